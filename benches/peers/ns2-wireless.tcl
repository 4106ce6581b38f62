# Stations that share the air in ns-2: the wireless cases of `cclab bench`.
#
# usage: ns ns2-wireless.tcl KIND SECONDS SEED TRACE
#
# KIND chain-8: NewReno, window 32, over eight hops of 250 m. KIND random-50, random-50-tcp: 50 stations run about on
# 1500 m x 300 m at 1 to 20 m/s without rest; ten flows, four datagrams of 512 bytes a second, or NewReno with a window of 32.
# AODV, 2 Mbit/s, 1 Mbit/s for what all have to understand, RTS before every unicast frame. With a file as TRACE every frame
# that a MAC sends or receives is a line in it; `-` is none.

lassign $argv kind seconds seed trace

# Without this every packet drags along the headers of every protocol ns-2 knows.
remove-all-packet-headers
add-packet-header IP TCP RTP Flags LL Mac ARP AODV

Mac/802_11 set dataRate_ 2Mb
Mac/802_11 set basicRate_ 1Mb
Mac/802_11 set RTSThreshold_ 0
Agent/TCP set packetSize_ 1460
Agent/TCP set window_ 32
Agent/TCP set windowInit_ 2
Agent/TCP set minrto_ 0.2

set ns [new Simulator]
ns-random $seed
set frames [expr {$trace ne "-"}]
# The stations want a trace file even if nothing is to be written.
$ns trace-all [open [expr {$frames ? $trace : "/dev/null"}] w]
set stations [expr {$kind eq "chain-8" ? 9 : 50}]
set plain [new Topography]
$plain load_flatgrid 3000 1500
create-god $stations
$ns node-config -adhocRouting AODV -llType LL -macType Mac/802_11 -ifqType Queue/DropTail/PriQueue -ifqLen 50 \
    -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $plain \
    -agentTrace OFF -routerTrace OFF -macTrace [expr {$frames ? "ON" : "OFF"}] -movementTrace OFF

set numbers [new RNG]
$numbers seed $seed
proc draw {from to} {
    global numbers
    return [$numbers uniform $from $to]
}

for {set i 0} {$i < $stations} {incr i} {
    set node($i) [$ns node]
    $node($i) random-motion 0
    if {$kind eq "chain-8"} {
        set x [expr {250.0 * $i + 1}]; set y 1.0
    } else {
        set x [draw 1 1499]; set y [draw 1 299]
    }
    $node($i) set X_ $x
    $node($i) set Y_ $y
    $node($i) set Z_ 0
    for {set t 0.0} {$kind ne "chain-8" && $t < $seconds} {set t [expr {$t + $leg}]} {
        set to_x [draw 1 1499]; set to_y [draw 1 299]; set speed [draw 1 20]
        $ns at $t "$node($i) setdest $to_x $to_y $speed"
        set leg [expr {hypot($to_x - $x, $to_y - $y) / $speed}]
        set x $to_x; set y $to_y
    }
}

proc flow {from to start} {
    global ns node kind
    if {$kind eq "random-50"} {
        set source [new Agent/UDP]
        set sink [new Agent/Null]
        set application [new Application/Traffic/CBR]
        $application set packetSize_ 512
        $application set interval_ 0.25
    } else {
        set source [new Agent/TCP/Newreno]
        set sink [new Agent/TCPSink]
        set application [new Application/FTP]
    }
    $ns attach-agent $node($from) $source
    $ns attach-agent $node($to) $sink
    $ns connect $source $sink
    $application attach-agent $source
    $ns at $start "$application start"
}
if {$kind eq "chain-8"} {
    flow 0 8 0.0
} else {
    for {set i 0} {$i < 10} {incr i} { flow [expr {2 * $i}] [expr {2 * $i + 1}] [draw 0 1] }
}

$ns at $seconds { puts "[$ns now] 0"; if {$frames} { $ns flush-trace }; exit 0 }
$ns run
