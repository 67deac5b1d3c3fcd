/** The processor time per second between two samples, in nano cores (InstCpuStats of cadvisor's info/v2/conversion.go). Pure. */
export interface CpuSample {
  readonly cpuUsageNs: bigint;
  readonly sampledAtMs: number;
}

/** Nanoseconds per millisecond, times 1000, are nanoseconds per second. NaN without an earlier sample, and when the clock or the counter went back. */
export function computeNanoCores(last: CpuSample | undefined, current: CpuSample): number {
  if (!last || current.sampledAtMs <= last.sampledAtMs || current.cpuUsageNs < last.cpuUsageNs) return NaN;
  return Math.floor((Number(current.cpuUsageNs - last.cpuUsageNs) / (current.sampledAtMs - last.sampledAtMs)) * 1000);
}
