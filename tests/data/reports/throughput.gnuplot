set encoding utf8
set lmargin at screen 0.085
set rmargin at screen 0.83
set bmargin at screen 0.11
set tmargin at screen 0.91
set title 'Throughput over work' font ',15'
set xlabel 'work (FLOP per image)'
set ylabel 'throughput (images/s)' offset 1,0
set samples 500
set logscale xy
set format x '%.0s%c'
set format y '%.0s%c'
set xrange [685412:11223744]
set yrange [2682.2595354326486:46209.65319655276]
set border 3 linecolor rgb '#444444'
set tics nomirror textcolor rgb '#222222'
set grid xtics ytics linetype 1 linecolor rgb '#dddddd' linewidth 0.7
set key at screen 0.845,0.91 left top vertical Left reverse samplen 1.5 spacing 1.3 font ',11'
$front0 << EOD
2271640 23104.82659827638
5611872 6666.6222225185165
EOD
$s0 << EOD
2271640 23104.82659827638
5611872 6666.6222225185165
EOD
$s1 << EOD
1370824 15696.369429750896
4711056 5364.519070865297
EOD
set terminal svg size 960,600 noenhanced font 'sans-serif,13' background '#ffffff'
set output 'throughput.svg'
plot $front0 with lines linewidth 2 linecolor rgb '#999999' title 'front', \
     $s0 with points pointtype 7 pointsize 1.1 linecolor rgb '#0072B2' title 'mha', \
     $s1 with points pointtype 5 pointsize 1.1 linecolor rgb '#D55E00' title 'cga'
unset output
if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) {
set terminal pngcairo size 1920,1200 fontscale 2 linewidth 2 pointscale 2 noenhanced font 'sans-serif,13' background '#ffffff'
set output 'throughput.png'
replot
unset output
}
if (strstrt(GPVAL_TERMINALS, 'pdfcairo') > 0) {
set terminal pdfcairo size 6.4in,4in fontscale 0.62 linewidth 1 pointscale 0.6 noenhanced font 'sans-serif,13' background '#ffffff'
set output 'throughput.pdf'
replot
unset output
}
