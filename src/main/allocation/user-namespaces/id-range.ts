/**
 * The range of the host's IDs that the kubelet divides among its pods, and its rules. Pure. Upstream: getKubeletMappings and
 * parseGetSubIdsOutput in pkg/kubelet/kubelet_pods.go, MakeUserNsManager in pkg/kubelet/userns.
 */
import { goQuote } from '../../../shared/kubernetes/go-text.ts';

/** User and group IDs of the host. Both fit in 32 bits, as does `firstID + length − 1`. */
export interface IDRange {
  readonly firstID: number;
  readonly length: number;
}

/** The length of a pod's range is a multiple of 2^16, as the configuration's `idsPerPod` must be. */
export const idsUnit = 65536;
/** User and group IDs have 32 bits. */
export const idCount = 2 ** 32;

/** All IDs but the lowest ones, which belong to the host's own users. */
export function defaultIDRange(idsPerPod: number): IDRange {
  return { firstID: idsPerPod, length: idCount - idsPerPod };
}

/** Reads the output of `getsubids`: one line such as `0: kubelet 65536 2147483648`. Throws an Error otherwise. */
export function parseSubordinateIDs(output: string): IDRange {
  const lines = output.replace(/^\n+|\n+$/g, '').split('\n');
  if (lines.length !== 1) throw new Error(`error parsing line ${goQuote(output)}: it must contain only one line`);
  const fields = lines[0]!.split(/\s+/).filter((field) => field !== '');
  if (fields.length !== 4) throw new Error(`invalid line ${goQuote(output)}`);
  const [firstID, length] = fields.slice(2).map((field) => {
    if (!/^\d{1,10}$/.test(field) || Number(field) >= idCount) throw new Error(`error parsing line ${goQuote(output)}: ${field} is no ID`);
    return Number(field);
  });
  return { firstID: firstID!, length: length! };
}

/**
 * Returns how many pods the range has IDs for. The kernel maps no range whose last ID is 2^32 − 1, which stands for no ID. Upstream counts such
 * a range, and a pod that gets it never starts.
 */
export function rangeCount({ firstID, length }: IDRange, idsPerPod: number): number {
  return Math.floor((Math.min(firstID + length, idCount - 1) - firstID) / idsPerPod);
}

/** Throws an Error when the range cannot be divided among the pods. The range must not contain ID 0: a pod's root would be the host's. */
export function checkIDRange({ firstID, length }: IDRange, idsPerPod: number, maxPods: number): void {
  if (idsPerPod % idsUnit !== 0) throw new Error(`kubelet user namespace length ${idsPerPod} is not a multiple of ${idsUnit}`);
  if (firstID % idsPerPod !== 0) throw new Error(`kubelet user assigned ID ${firstID} is not a multiple of ${idsPerPod}`);
  if (firstID < idsPerPod) throw new Error(`kubelet user assigned ID ${firstID} must be greater or equal to ${idsPerPod}`);
  if (length % idsPerPod !== 0) throw new Error(`kubelet user assigned IDs length ${length} is not a multiple of ${idsPerPod}`);
  if (firstID + length > idCount) throw new Error(`kubelet user assigned IDs ${firstID} to ${firstID + length - 1} are more than 32 bits`);
  if (rangeCount({ firstID, length }, idsPerPod) < maxPods)
    throw new Error(`kubelet user assigned IDs are not enough to support ${maxPods} pods`);
}
