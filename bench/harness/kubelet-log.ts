/** What a kubelet's own log says of when it knew something: asking `/pods` again and again would be what is measured, on two cores. */

/** klog's `I1121 13:15:02.257000`, in local time and without a year. */
const stamp = /^[IWEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{3})/;

/** Wall-clock ms of the line in which the loop was given the pod; undefined while there is none. */
export function podSeenAtMs(log: string, pod: string): number | undefined {
  return timeOf(log.split('\n').find((line) => line.includes('"SyncLoop update" op="ADD"') && line.includes(`"${pod}"`)));
}

/** Wall-clock ms of the line in which the pod first got to that phase; undefined while there is none. */
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
