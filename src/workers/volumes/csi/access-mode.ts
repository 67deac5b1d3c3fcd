/** Converts the access mode of a persistent volume into CSI's (upstream pkg/volume/csi/csi_client.go asCSIAccessModeV1 and asSingleNodeMultiWriterCapableCSIAccessModeV1). Pure. */
import { VolumeCapability_AccessMode_Mode as Mode } from './generated/csi-v1.ts';

const modes: ReadonlyMap<string, Mode> = new Map([
  ['ReadWriteOnce', Mode.SINGLE_NODE_WRITER],
  ['ReadOnlyMany', Mode.MULTI_NODE_READER_ONLY],
  ['ReadWriteMany', Mode.MULTI_NODE_MULTI_WRITER],
  ['ReadWriteOncePod', Mode.SINGLE_NODE_WRITER],
]);

const multiWriterModes: ReadonlyMap<string, Mode> = new Map([
  ...modes,
  ['ReadWriteOnce', Mode.SINGLE_NODE_MULTI_WRITER],
  ['ReadWriteOncePod', Mode.SINGLE_NODE_SINGLE_WRITER],
]);

/** As upstream, only the first mode counts, and a volume without modes is ReadWriteOnce. */
export function toAccessMode(accessModes: readonly string[], supportsMultiWriter: boolean): Mode {
  return (supportsMultiWriter ? multiWriterModes : modes).get(accessModes[0] ?? 'ReadWriteOnce') ?? Mode.UNKNOWN;
}
