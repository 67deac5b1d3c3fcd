/** Reads times from a kubelet's log. Polling `/pods` would affect the measurement on two cores. */

/** klog's `I1121 13:15:02.257000`, in local time and without a year. */
const stamp = /^[IWEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{3})/;

/** Returns the wall-clock ms at which the sync loop got the pod. Undefined when the log has no such line. */
export function podSeenAtMs(log: string, pod: string): number | undefined {
  return timeOf(log.split('\n').find((line) => line.includes('"SyncLoop update" op="ADD"') && line.includes(`"${pod}"`)));
}

/** Returns the wall-clock ms at which the pod first reached the phase. Undefined when the log has no such line. */
export function phaseChangedAtMs(log: string, pod: string, phase: string): number | undefined {
  return timeOf(
    log.split('\n').find((line) => line.includes('"Pod phase changed"') && line.includes(`pod="${pod}"`) && line.endsWith(`to="${phase}"`)),
  );
}

function timeOf(line: string | undefined): number | undefined {
  const match = line === undefined ? null : stamp.exec(line);
  if (!match) return undefined;
  const [month, day, hour, minute, second, ms] = match.slice(1).map(Number) as [number, number, number, number, number, number];
  return new Date(new Date().getFullYear(), month - 1, day, hour, minute, second, ms).getTime();
}
