/**
 * Shows the writable layer and the log of a container as its filesystem on /metrics/cadvisor: with CRI-O only, as upstream (UsingLegacyCadvisorStats of
 * pkg/kubelet/cadvisor/util.go; getFsStats of cadvisor's container/crio/handler.go). Pure.
 */
import type { FilesystemRow } from '../../../shared/state/filesystem-table.ts';
import { noIo, type NodeFilesystem } from '../../../shared/state/node-filesystem-table.ts';
import type { PodStorage } from '../../../shared/state/storage-table.ts';
import type { CgroupUsage } from '../../../shared/state/usage-table.ts';

/**
 * Returns the usage of the writable layer with the log, and the inodes of the layer. Undefined when the layer is not measured, or when no filesystem of
 * the node has its device.
 * @param layersFilesystem the filesystem of all writable layers
 */
export function layerFilesystem(
  { identity: { kind, containerName, containerID }, values }: CgroupUsage,
  storage: PodStorage | undefined,
  layersFilesystem: Pick<FilesystemRow, 'device'> | undefined,
  nodeFilesystems: readonly NodeFilesystem[],
): NodeFilesystem | undefined {
  const layer = kind === 'container' ? storage?.containers.get(containerName) : undefined;
  if (!layer || layer.containerID !== containerID || Number.isNaN(layer.usedBytes)) return undefined;
  const found = nodeFilesystems.find(({ deviceNumber }) => deviceNumber === layersFilesystem?.device);
  if (!found) return undefined;
  const { device, deviceNumber, capacityBytes } = found;
  const logBytes = Number.isNaN(values.logBytes) ? 0 : values.logBytes;
  return { device, deviceNumber, capacityBytes, usedBytes: layer.usedBytes + logBytes, inodes: layer.inodesUsed, inodesFree: 0, ...noIo };
}
