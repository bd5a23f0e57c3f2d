set encoding utf8
set lmargin at screen 0.085
set rmargin at screen 0.83
set bmargin at screen 0.11
set tmargin at screen 0.91
set title 'Roofline: ceilings for f32, 2 threads' font ',15'
set xlabel 'intensity (FLOP/B)'
set ylabel 'rate (FLOP/s)' offset 1,0
set samples 500
set logscale xy
set format x '%.0s%c'
set format y '%.0s%c'
set xrange [0.14819899418143168:42.054946682464454]
set yrange [7172319975.722947:756692369431.217]
set border 3 linecolor rgb '#444444'
set tics nomirror textcolor rgb '#222222'
set grid xtics ytics linetype 1 linecolor rgb '#dddddd' linewidth 0.7
set key at screen 0.845,0.91 left top vertical Left reverse samplen 1.5 spacing 1.3 font ',11'
set label 'L1 triad 335 GB/s' at 0.165983,5.56651e+10 rotate by 39.1 offset 0,0.7 font ',10' textcolor rgb '#444444'
set label 'L2 triad 184 GB/s' at 0.165983,3.05783e+10 rotate by 39.1 offset 0,0.7 font ',10' textcolor rgb '#444444'
set label 'L3 triad 81.9 GB/s' at 0.165983,1.35944e+10 rotate by 39.1 offset 0,0.7 font ',10' textcolor rgb '#444444'
set label 'DRAM triad_nt 41.7 GB/s' at 0.21191,8.8363e+09 rotate by 39.1 offset 0,0.7 font ',10' textcolor rgb '#444444'
set label 'fma f32 avx2, 2 threads 199 GFLOP/s' at 40.0523,1.98804e+11 right offset 0,0.6 font ',10' textcolor rgb '#444444'
$s0 << EOD
10.513736670616113 52485848293.70856
10.200732899022801 37412230585.12943
EOD
$s1 << EOD
6.6088012958963285 21516959927.168842
8.699946814797306 25272549755.914383
EOD
set terminal svg size 960,600 noenhanced font 'sans-serif,13' background '#ffffff'
set output 'roofline.svg'
plot (x*335366825049.4842 < 198804104616.6149 ? x*335366825049.4842 : 1/0) with lines linewidth 1.5 linecolor rgb '#777777' notitle, \
     (x*184225888342.0136 < 198804104616.6149 ? x*184225888342.0136 : 1/0) with lines linewidth 1.5 linecolor rgb '#777777' notitle, \
     (x*81902458446.01959 < 198804104616.6149 ? x*81902458446.01959 : 1/0) with lines linewidth 1.5 linecolor rgb '#777777' notitle, \
     (x*41698419577.49063 < 198804104616.6149 ? x*41698419577.49063 : 1/0) with lines linewidth 1.5 linecolor rgb '#777777' notitle, \
     (x*335366825049.4842 > 198804104616.6149 ? 198804104616.6149 : 1/0) with lines linewidth 1.5 linecolor rgb '#444444' notitle, \
     $s0 with points pointtype 7 pointsize 1.1 linecolor rgb '#0072B2' title 'mha', \
     $s1 with points pointtype 5 pointsize 1.1 linecolor rgb '#D55E00' title 'cga'
unset output
if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) {
set terminal pngcairo size 1920,1200 fontscale 2 linewidth 2 pointscale 2 noenhanced font 'sans-serif,13' background '#ffffff'
set output 'roofline.png'
replot
unset output
}
if (strstrt(GPVAL_TERMINALS, 'pdfcairo') > 0) {
set terminal pdfcairo size 6.4in,4in fontscale 0.62 linewidth 1 pointscale 0.6 noenhanced font 'sans-serif,13' background '#ffffff'
set output 'roofline.pdf'
replot
unset output
}
