set encoding utf8
set terminal svg size 960,640 noenhanced font 'sans-serif,13' background '#ffffff'
set output 'throughput.svg'
set title 'Throughput over work'
set xlabel 'work (FLOP per image)'
set ylabel 'throughput (images/s)'
set logscale xy
set format x '%.0s%c'
set format y '%.0s%c'
set xrange [685412:11223744]
set yrange [2682.2595354326486:46209.65319655276]
set grid linecolor rgb '#dddddd'
set key outside bottom center horizontal
$s0 << EOD
2271640 23104.82659827638
5611872 6666.6222225185165
EOD
$s1 << EOD
1370824 15696.369429750896
4711056 5364.519070865297
EOD
plot $s0 with points pointtype 7 pointsize 1.1 linecolor rgb '#0072B2' title 'mha', \
     $s1 with points pointtype 5 pointsize 1.1 linecolor rgb '#D55E00' title 'cga'
