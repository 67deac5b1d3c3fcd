/**
 * Encodes and decodes the file `userns` in a pod's folder. A Go kubelet reads and writes the same format. Pure. Upstream:
 * writeMappingsToFile and parseUserNsFileAndRecord in pkg/kubelet/userns.
 */
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { idCount, type IDRange } from './id-range.ts';

export const mappingsFile = 'userns';

/** One mapping, with the field names of the Go struct. */
interface Mapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

export function encodeMappings({ firstID, length }: IDRange): string {
  const mappings = [{ hostId: firstID, containerId: 0, length }];
  return JSON.stringify({ uidMappings: mappings, gidMappings: mappings });
}

/** Throws an Error when the content is malformed, or is not one mapping that begins at ID 0 and is the same for users and groups. */
export function decodeMappings(content: string): IDRange {
  const { uidMappings, gidMappings } = parse(content);
  if (uidMappings.length !== 1) throw invalid('no more than one mapping allowed.');
  if (gidMappings.length !== 1) throw invalid('GID and UID mappings should be identical.');
  const [uids, gids] = [uidMappings[0]!, gidMappings[0]!];
  if (uids.hostId !== gids.hostId || uids.containerId !== gids.containerId || uids.length !== gids.length)
    throw invalid('GID and UID mapping should be identical');
  if (uids.containerId !== 0) throw invalid('UID 0 must be mapped');
  return { firstID: uids.hostId, length: uids.length };
}

function parse(content: string): { readonly uidMappings: readonly Mapping[]; readonly gidMappings: readonly Mapping[] } {
  try {
    const { uidMappings, gidMappings } = objectIn(JSON.parse(content));
    return { uidMappings: mappingsIn(uidMappings), gidMappings: mappingsIn(gidMappings) };
  } catch (err) {
    throw new Error(`invalid user namespace mappings file: ${messageOf(err)}`, { cause: err });
  }
}

function mappingsIn(value: unknown): Mapping[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error('the mappings are no list');
  return value.map((entry) => {
    const { hostId, containerId, length } = objectIn(entry);
    return { hostId: idIn(hostId), containerId: idIn(containerId), length: idIn(length) };
  });
}

/** A missing field is 0, as upstream. */
function idIn(value: unknown = 0): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value >= idCount)
    throw new Error('an ID is not a number of 32 bits');
  return value;
}

function objectIn(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('it is no object');
  return value as Readonly<Record<string, unknown>>;
}

function invalid(problem: string): Error {
  return new Error(`invalid user namespace configuration: ${problem}`);
}
