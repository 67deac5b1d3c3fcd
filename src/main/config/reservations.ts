/** Computes the reservations of the node from the configuration (upstream: parseResourceList in cmd/kubelet/app/server.go). Pure. */
import { formatQuantity, parseQuantity } from '../../shared/kubernetes/quantity.ts';
import { parseCPUList } from '../../shared/linux/cpu-list.ts';
import type { KubeletConfiguration, StringMap } from './kubelet-configuration.ts';

const nanosPerMicro = 1000n;
const microsPerMilli = 1000n;

/**
 * Returns a valid configuration with its effective reservations. The number of CPUs in reservedSystemCPUs, if set, replaces the CPU of both
 * systemReserved and kubeReserved. A reservation of CPU is rounded to whole thousandths, because the Node's status can't show a smaller
 * remainder.
 */
export function effectiveReservations<C extends Pick<KubeletConfiguration, 'reservedSystemCPUs' | 'kubeReserved' | 'systemReserved'>>(
  config: C,
): C {
  const [kubeReserved, systemReserved] = [inMilliCPU(config.kubeReserved), inMilliCPU(config.systemReserved)];
  if (config.reservedSystemCPUs === '') return { ...config, kubeReserved, systemReserved };
  const { cpu: _, ...others } = kubeReserved;
  const cpus = parseCPUList(config.reservedSystemCPUs).size;
  return { ...config, kubeReserved: others, systemReserved: { ...systemReserved, cpu: String(cpus) } };
}

/** Rounds the CPU to thousandths. Upstream rounds up to millionths first. */
function inMilliCPU(reserved: StringMap): StringMap {
  const { cpu } = reserved;
  if (cpu === undefined) return reserved;
  const { nanos } = parseQuantity(cpu);
  const micros = (nanos + nanosPerMicro - 1n) / nanosPerMicro;
  const millis = (micros + microsPerMilli / 2n) / microsPerMilli;
  const rounded = millis * microsPerMilli * nanosPerMicro;
  if (rounded === nanos) return reserved;
  return { ...reserved, cpu: formatQuantity({ nanos: rounded, format: 'DecimalSI' }) };
}
