set encoding utf8
set terminal svg size 960,640 noenhanced font 'sans-serif,13' background '#ffffff'
set output 'roofline.svg'
set title 'Roofline: ceilings for f32, 2 threads'
set xlabel 'intensity (FLOP/B)'
set ylabel 'rate (FLOP/s)'
set logscale xy
set format x '%.0s%c'
set format y '%.0s%c'
set xrange [0.14819899418143168:42.054946682464454]
set yrange [7172319975.722947:756692369431.217]
set grid linecolor rgb '#dddddd'
set key outside bottom center horizontal
$s0 << EOD
10.513736670616113 52485848293.70856
10.200732899022801 37412230585.12943
EOD
$s1 << EOD
6.6088012958963285 21516959927.168842
8.699946814797306 25272549755.914383
EOD
plot (x*335366825049.4842 < 198804104616.6149 ? x*335366825049.4842 : 198804104616.6149) with lines linewidth 1.5 dashtype 1 linecolor rgb '#555555' title 'L1 triad 335 GB/s', \
     (x*184225888342.0136 < 198804104616.6149 ? x*184225888342.0136 : 198804104616.6149) with lines linewidth 1.5 dashtype 2 linecolor rgb '#555555' title 'L2 triad 184 GB/s', \
     (x*81902458446.01959 < 198804104616.6149 ? x*81902458446.01959 : 198804104616.6149) with lines linewidth 1.5 dashtype 3 linecolor rgb '#555555' title 'L3 triad 81.9 GB/s', \
     (x*41698419577.49063 < 198804104616.6149 ? x*41698419577.49063 : 198804104616.6149) with lines linewidth 1.5 dashtype 4 linecolor rgb '#555555' title 'DRAM triad_nt 41.7 GB/s', \
     198804104616.6149 with lines linewidth 1.5 linecolor rgb '#222222' title 'fma f32 avx2, 2 threads 199 GFLOP/s', \
     $s0 with points pointtype 7 pointsize 1.1 linecolor rgb '#0072B2' title 'mha', \
     $s1 with points pointtype 5 pointsize 1.1 linecolor rgb '#D55E00' title 'cga'
