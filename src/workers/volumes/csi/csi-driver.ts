/** One registered CSI driver: the calls of its Node service (upstream pkg/volume/csi/csi_client.go). */
import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import type { DriverNodeInfo } from '../../../shared/contracts/volumes.ts';
import { codeName } from '../../../shared/cri/cri-error.ts';
import { callUnary, RpcError } from '../../../shared/grpc-client/index.ts';
import { csiOperations } from '../../../shared/metrics/definitions/volumes.ts';
import { NodeDefinition, NodeServiceCapability_RPC_Type as Capability } from './generated/csi-v1.ts';

type Methods = typeof NodeDefinition.methods;
interface Message<T> {
  encode(message: T, writer?: BinaryWriter): BinaryWriter;
  decode(input: BinaryReader | Uint8Array, length?: number): T;
}
type MessageOf<M> = M extends Message<infer T> ? T : never;
type RequestOf<K extends keyof Methods> = MessageOf<Methods[K]['requestType']>;
type ReplyOf<K extends keyof Methods> = MessageOf<Methods[K]['responseType']>;

/** Upstream's csiTimeout. */
const deadlineMs = 2 * 60_000;
/** The most topology segments of a driver, which become labels of the Node. More are taken for a fault. */
const maxSegments = 64;

export interface DriverCapabilities {
  /** The driver stages a volume on the node before it publishes the volume to pods. */
  readonly stages: boolean;
  /** The driver sets the group of a volume's files. */
  readonly mountGroup: boolean;
  readonly multiWriter: boolean;
  /** The driver measures what a volume uses. */
  readonly volumeStats: boolean;
  /** The driver reports the health of a volume. */
  readonly volumeHealth: boolean;
  /** The driver reports the health of the storage behind it. */
  readonly storageHealth: boolean;
}

export class CsiDriver {
  readonly name: string;
  readonly #socketPath: string;
  #capabilities: Promise<DriverCapabilities> | undefined;

  constructor(name: string, socketPath: string) {
    this.name = name;
    this.#socketPath = socketPath;
  }

  /** Rejects with RpcError, and with an Error for a reply that is not a message. */
  async call<K extends keyof Methods>(method: K, request: RequestOf<K>): Promise<ReplyOf<K>> {
    const { name, requestType, responseType } = NodeDefinition.methods[method] as unknown as {
      readonly name: string;
      readonly requestType: Message<RequestOf<K>>;
      readonly responseType: Message<ReplyOf<K>>;
    };
    const path = `/${NodeDefinition.fullName}/${name}`;
    const beganAtMs = performance.now();
    let status = 'OK';
    try {
      return responseType.decode(
        await callUnary({ socketPath: this.#socketPath, path, request: requestType.encode(request).finish(), deadlineMs }),
      );
    } catch (err) {
      status = err instanceof RpcError ? codeName(err.code) : 'unknown-non-grpc';
      throw err;
    } finally {
      const labels = { driver_name: this.name, method_name: path, grpc_status_code: status, migrated: 'false' };
      csiOperations.observe((performance.now() - beganAtMs) / 1000, labels);
    }
  }

  /** Asked once for each registration of the driver, and again after a failure. */
  capabilities(): Promise<DriverCapabilities> {
    this.#capabilities ??= this.#readCapabilities().catch((err: unknown) => {
      this.#capabilities = undefined;
      throw err;
    });
    return this.#capabilities;
  }

  async info(): Promise<DriverNodeInfo> {
    const { nodeId, maxVolumesPerNode, accessibleTopology } = await this.call('nodeGetInfo', {});
    const topology = accessibleTopology?.segments ?? {};
    if (Object.keys(topology).length > maxSegments) throw new Error(`the driver reports more than ${maxSegments} topology segments`);
    const count = maxVolumesPerNode > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(maxVolumesPerNode);
    return { nodeID: nodeId, maxVolumesPerNode: count, topology };
  }

  async #readCapabilities(): Promise<DriverCapabilities> {
    const { capabilities } = await this.call('nodeGetCapabilities', {});
    const types = new Set(capabilities.map(({ rpc }) => rpc?.type));
    return {
      stages: types.has(Capability.STAGE_UNSTAGE_VOLUME),
      mountGroup: types.has(Capability.VOLUME_MOUNT_GROUP),
      multiWriter: types.has(Capability.SINGLE_NODE_MULTI_WRITER),
      volumeStats: types.has(Capability.GET_VOLUME_STATS),
      volumeHealth: types.has(Capability.GET_VOLUME_HEALTH),
      storageHealth: types.has(Capability.GET_STORAGE_HEALTH),
    };
  }
}
