// CUBIC flows over one bottleneck in ns-3: the cases of `cclab bench`.
//
// usage: ns3 FLOWS RATE_BPS RTT_S BUFFER_PACKETS SECONDS SSTHRESH
//
// SSTHRESH in segments; 0 leaves slow start without a limit. Every hundredth of a simulated second one line goes to
// standard output: simulated seconds, data packets delivered over the bottleneck so far.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace ns3;

namespace
{
constexpr uint32_t SEGMENT = 1448; // 1500 bytes on the wire with IP, TCP and timestamps
uint64_t delivered = 0;

void
CountData(Ptr<const Packet> packet)
{
    delivered += packet->GetSize() > SEGMENT;
}

void
Report()
{
    std::printf("%.3f %lu\n", Simulator::Now().GetSeconds(), static_cast<unsigned long>(delivered));
    std::fflush(stdout);
    Simulator::Schedule(MilliSeconds(10), &Report);
}

// Two devices joined by a link whose queue holds `packets`; no queue discipline above it.
NetDeviceContainer
Join(Ptr<Node> a, Ptr<Node> b, DataRate rate, Time delay, uint32_t packets)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(rate));
    link.SetDeviceAttribute("Mtu", UintegerValue(1500));
    link.SetChannelAttribute("Delay", TimeValue(delay));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, packets)));
    return link.Install(a, b);
}

Ipv4InterfaceContainer
Number(Ipv4AddressHelper& addresses, NetDeviceContainer devices)
{
    auto interfaces = addresses.Assign(devices);
    TrafficControlHelper{}.Uninstall(devices); // Assign put FQ-CoDel there
    addresses.NewNetwork();
    return interfaces;
}

void
DefaultRoute(Ptr<Node> node, Ipv4Address gateway, uint32_t interface)
{
    Ipv4StaticRoutingHelper{}.GetStaticRouting(node->GetObject<Ipv4>())->SetDefaultRoute(gateway, interface);
}
} // namespace

int
main(int argc, char** argv)
{
    if (argc != 7)
    {
        std::fprintf(stderr, "usage: %s FLOWS RATE_BPS RTT_S BUFFER_PACKETS SECONDS SSTHRESH\n", argv[0]);
        return 2;
    }
    const uint32_t flows = std::atoi(argv[1]);
    const DataRate rate(static_cast<uint64_t>(std::atof(argv[2])));
    const double rtt = std::atof(argv[3]);
    const uint32_t buffer = std::atoi(argv[4]);
    const Time duration = Seconds(std::atof(argv[5]));
    const uint32_t ssthresh = std::atoi(argv[6]);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::TcpCubic")));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    // Twice a flow's share of what the path and the queue hold: no limit to any window, and no more, for ns-3 fills
    // the send buffer at once with packets that take memory and time.
    const double held = rate.GetBitRate() * rtt / 8 + 1500.0 * buffer;
    const uint32_t window = std::max(128 << 10, static_cast<int>(2 * held / flows));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    if (ssthresh > 0)
    {
        Config::SetDefault("ns3::TcpSocket::InitialSlowStartThreshold", UintegerValue(ssthresh * SEGMENT));
    }

    NodeContainer routers(2);
    // A router of ns-3 searches its routes one by one, a host its flows: so as many pairs of hosts as flows on each.
    const uint32_t pairs = std::ceil(std::sqrt(flows));
    NodeContainer hosts(2 * pairs);
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.SetRoutingHelper(Ipv4StaticRoutingHelper{});
    stack.Install(routers);
    stack.Install(hosts);

    const uint32_t ample = 1000000;
    const DataRate fast("10Gbps");
    const Time hop = MicroSeconds(20);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    auto bottleneck = Join(routers.Get(0), routers.Get(1), rate, Seconds(rtt / 2) - 2 * hop, buffer);
    DynamicCast<PointToPointNetDevice>(bottleneck.Get(1))->SetQueue(
        CreateObjectWithAttributes<DropTailQueue<Packet>>(
            "MaxSize",
            QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, ample))));
    bottleneck.Get(1)->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&CountData));
    auto middle = Number(addresses, bottleneck);
    DefaultRoute(routers.Get(0), middle.GetAddress(1), 1);
    DefaultRoute(routers.Get(1), middle.GetAddress(0), 1);

    std::vector<Ipv4Address> destinations;
    for (uint32_t i = 0; i < pairs; ++i)
    {
        auto left = Number(addresses, Join(hosts.Get(2 * i), routers.Get(0), fast, hop, ample));
        auto right = Number(addresses, Join(hosts.Get(2 * i + 1), routers.Get(1), fast, hop, ample));
        DefaultRoute(hosts.Get(2 * i), left.GetAddress(1), 1);
        DefaultRoute(hosts.Get(2 * i + 1), right.GetAddress(1), 1);
        destinations.push_back(right.GetAddress(0));
    }
    for (uint32_t i = 0; i < flows; ++i)
    {
        const uint32_t pair = i % pairs;
        const uint16_t port = 5000 + i / pairs;
        PacketSinkHelper receiver("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        receiver.Install(hosts.Get(2 * pair + 1)).Start(Seconds(0));
        BulkSendHelper sender("ns3::TcpSocketFactory", InetSocketAddress(destinations[pair], port));
        sender.SetAttribute("SendSize", UintegerValue(SEGMENT));
        // Starts spread over the first tenth of a second.
        sender.Install(hosts.Get(2 * pair)).Start(Seconds(0.1 * i / flows));
    }

    Report();
    Simulator::Stop(duration);
    Simulator::Run();
    std::printf("%.3f %lu\n", duration.GetSeconds(), static_cast<unsigned long>(delivered));
    return 0;
}
