# CUBIC flows over one bottleneck in ns-2: the cases of `cclab bench`.
#
# usage: ns ns2.tcl FLOWS RATE_BPS RTT_S BUFFER_PACKETS SECONDS SSTHRESH
#
# SSTHRESH in segments; 0 leaves slow start without a limit. Every tenth of a simulated second one line goes to
# standard output: simulated seconds, data packets delivered over the bottleneck so far.
#
# source - 10 Gbit/s - left - bottleneck - right - 10 Gbit/s - sink. All flows share the two hosts: nodes and links cost
# ns-2 much of its set-up time, agents on one node cost it nothing per packet.

lassign $argv flows rate rtt buffer seconds ssthresh

# The Linux agent puts 50 bytes of headers on top: 1500 on the wire.
Agent/TCP set packetSize_ 1450
Agent/TCP set window_ 1000000
Agent/TCP set windowInit_ 10
Agent/TCP set minrto_ 0.2
Agent/TCP/Linux set timestamps_ true
# The Linux agent takes its initial ssthresh from here (0: from window_).
Agent/TCP set max_ssthresh_ $ssthresh
Agent/TCPSink set ts_echo_rtime_ true
Agent/TCPSink/Sack1/DelAck set interval_ 40ms

# Without this every packet drags along the headers of every protocol ns-2 knows.
remove-all-packet-headers
add-packet-header IP TCP Flags

set ns [new Simulator]
foreach name {source left right sink} { set $name [$ns node] }
$ns duplex-link $source $left 10Gb 20us DropTail
$ns duplex-link $left $right $rate [expr {$rtt / 2.0 - 40e-6}] DropTail
$ns duplex-link $right $sink 10Gb 20us DropTail
foreach {from to} [list $source $left $left $source $right $left $right $sink $sink $right] {
    $ns queue-limit $from $to 1000000
}
# ns-2 counts the packet being sent; we count those waiting.
$ns queue-limit $left $right [expr {$buffer + 1}]
set bottleneck [$ns monitor-queue $left $right ""]

for {set i 0} {$i < $flows} {incr i} {
    set tcp [new Agent/TCP/Linux]
    set receiver [new Agent/TCPSink/Sack1/DelAck]
    $ns attach-agent $source $tcp
    $ns attach-agent $sink $receiver
    $ns connect $tcp $receiver
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    # Starts spread over the first tenth of a second.
    set start [expr {0.1 * $i / $flows}]
    $ns at $start "$tcp select_ca cubic"
    $ns at $start "$ftp start"
}

proc report {} {
    global ns bottleneck
    puts "[$ns now] [$bottleneck set pdepartures_]"
    flush stdout
}
proc keep-reporting {} {
    global ns
    report
    $ns at [expr {[$ns now] + 0.1}] keep-reporting
}
keep-reporting
$ns at $seconds { report; exit 0 }
$ns run
