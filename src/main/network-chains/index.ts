/**
 * The kubelet's chains in the host's packet filter (makeIPTablesUtilChains): KUBE-IPTABLES-HINT, by which other components see which variant of
 * iptables the host uses, and KUBE-FIREWALL, which drops packets from outside to loopback addresses. They are created again after a flush. The sync
 * pool runs the commands. The kubelet itself needs none of it. wiring/start-network-chains.ts creates the part.
 */
export { NetworkChains, type NetworkChainsOptions } from './network-chains.ts';
