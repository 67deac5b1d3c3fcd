/** What reservedSystemCPUs does to the reservations of the node (upstream: cmd/kubelet/app/server.go). Pure. */
import { parseCPUList } from '../../shared/linux/cpu-list.ts';
import type { KubeletConfiguration } from './kubelet-configuration.ts';

/** The number of reserved CPUs replaces the CPU in systemReserved and kubeReserved. `reservedSystemCPUs` is valid. */
export function withReservedCPUs<C extends Pick<KubeletConfiguration, 'reservedSystemCPUs' | 'kubeReserved' | 'systemReserved'>>(
  config: C,
): C {
  if (config.reservedSystemCPUs === '') return config;
  const { cpu: _, ...kubeReserved } = config.kubeReserved;
  const cpus = parseCPUList(config.reservedSystemCPUs).size;
  return { ...config, kubeReserved, systemReserved: { ...config.systemReserved, cpu: String(cpus) } };
}
