/**
 * A CSI driver that really mounts, as a process of its own: a volume is a folder, its stage binds the folder to the staging path, and its publication binds the staging
 * path to the target. So a publication without a stage shows an empty folder. It registers itself as node-driver-registrar does. It writes a line for each call
 * into `journal.jsonl`, and reads its faults from `faults.json` and what is unhealthy from `health.json` at each call.
 */
import {
  Server,
  ServerCredentials,
  status,
  type handleUnaryCall,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseMountInfo } from './mounted.ts';
import { RegistrationDefinition } from '../../../src/workers/plugins/registration/generated/pluginregistration-v1.ts';
import {
  NodeDefinition,
  NodeServiceCapability_RPC_Type as Capability,
  StorageHealthErrorType,
  VolumeHealthErrorType,
  VolumeUsage_Unit,
  type NodeGetVolumeHealthRequest,
  type NodePublishVolumeRequest,
  type NodeStageVolumeRequest,
  type NodeUnpublishVolumeRequest,
  type NodeUnstageVolumeRequest,
} from '../../../src/workers/volumes/csi/generated/csi-v1.ts';
import type { CsiDriverOptions, Fault, Faults, Health, HealthEntry, JournalEntry } from './options.ts';

const options = JSON.parse(process.argv[2] ?? '{}') as CsiDriverOptions;
const { stateDir, capabilities = ['STAGE_UNSTAGE_VOLUME'] } = options;
const journalPath = join(stateDir, 'journal.jsonl');
const volumeFolder = (volumeID: string) => join(stateDir, 'volumes', encodeURIComponent(volumeID));

class RpcFailure extends Error {
  readonly code: status;
  constructor(code: status, message: string) {
    super(message);
    this.code = code;
  }
}

function isMounted(path: string): boolean {
  return parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8')).includes(path);
}

function bind(source: string, target: string, readOnly = false): void {
  if (isMounted(target)) return;
  mkdirSync(target, { recursive: true });
  execFileSync('mount', ['--bind', source, target]);
  if (readOnly) execFileSync('mount', ['-o', 'remount,bind,ro', target]);
}

function unbind(path: string): void {
  while (isMounted(path)) execFileSync('umount', [path]);
}

type Method = keyof typeof NodeDefinition.methods;
const work: Partial<Record<Method, (request: never) => unknown>> = {
  nodeGetInfo: () => ({
    nodeId: options.nodeID,
    maxVolumesPerNode: BigInt(options.maxVolumesPerNode ?? 0),
    accessibleTopology: options.topology && { segments: options.topology },
  }),
  nodeGetCapabilities: () => ({
    capabilities: capabilities.map((name) => ({ rpc: { type: Capability[name as keyof typeof Capability] } })),
  }),
  nodeStageVolume: ({ volumeId, stagingTargetPath }: NodeStageVolumeRequest) => {
    mkdirSync(volumeFolder(volumeId), { recursive: true });
    bind(volumeFolder(volumeId), stagingTargetPath);
    return {};
  },
  nodeUnstageVolume: ({ stagingTargetPath }: NodeUnstageVolumeRequest) => {
    unbind(stagingTargetPath);
    return {};
  },
  nodePublishVolume: ({ volumeId, stagingTargetPath, targetPath, readonly }: NodePublishVolumeRequest) => {
    if (!existsSync(dirname(targetPath))) throw new RpcFailure(status.INTERNAL, `${dirname(targetPath)} does not exist`);
    if (stagingTargetPath === '') mkdirSync(volumeFolder(volumeId), { recursive: true });
    bind(stagingTargetPath === '' ? volumeFolder(volumeId) : stagingTargetPath, targetPath, readonly);
    return {};
  },
  nodeUnpublishVolume: ({ targetPath }: NodeUnpublishVolumeRequest) => {
    unbind(targetPath);
    if (existsSync(targetPath)) rmdirSync(targetPath);
    return {};
  },
  nodeGetVolumeHealth: ({ volumeId }: NodeGetVolumeHealthRequest) => ({
    volumeHealth: { volumeId, healthStatuses: (health().volumes?.[volumeId] ?? []).map(withNumber(VolumeHealthErrorType)) },
  }),
  nodeGetStorageHealth: () => ({ backendHealth: (health().storage ?? []).map(withNumber(StorageHealthErrorType)) }),
  // Not what statfs returns.
  nodeGetVolumeStats: () => ({
    usage: [
      { unit: VolumeUsage_Unit.BYTES, total: 2n ** 30n, available: 2n ** 30n - 4096n, used: 4096n },
      { unit: VolumeUsage_Unit.INODES, total: 1000n, available: 990n, used: 10n },
    ],
  }),
};

function health(): Health {
  return (readState('health.json') as Health | undefined) ?? {};
}

/** Converts the names of the statuses to CSI's numbers. */
function withNumber(statuses: Readonly<Record<string, number>>) {
  return (entry: HealthEntry) => ({ ...entry, status: statuses[entry.status] });
}

/** Returns undefined when there is no such file. */
function readState(file: string): unknown {
  try {
    return JSON.parse(readFileSync(join(stateDir, file), 'utf8'));
  } catch {
    return undefined;
  }
}

const faultCounts = new Map<string, number>();

/** The fault of this call, or undefined. */
function faultOf(method: string): Fault | undefined {
  const faults = readState('faults.json') as Faults | undefined;
  if (!faults) return undefined;
  const fault = faults[method];
  const key = `${method} ${JSON.stringify(fault)}`;
  const count = (faultCounts.get(key) ?? 0) + 1;
  faultCounts.set(key, count);
  return fault && count <= (fault.times ?? Infinity) ? fault : undefined;
}

async function run(method: Method, name: string, request: never): Promise<unknown> {
  const doWork = work[method];
  const fault = faultOf(name);
  if (fault?.hang) await new Promise(() => {});
  if (fault?.delayMs !== undefined) await sleep(fault.delayMs);
  const fails = fault?.code !== undefined;
  if (fails && fault.effect === 'done') doWork?.(request);
  if (fails) throw new RpcFailure(status[fault.code as keyof typeof status], fault.message ?? 'a fault');
  if (!doWork) throw new RpcFailure(status.UNIMPLEMENTED, `${name} is not implemented`);
  return doWork(request);
}

function record(entry: JournalEntry): void {
  appendFileSync(journalPath, `${JSON.stringify(entry, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))}\n`);
}

interface Message {
  encode(message: never, writer?: BinaryWriter): BinaryWriter;
  decode(input: BinaryReader | Uint8Array, length?: number): unknown;
  fromPartial(object: never): unknown;
}

interface Definition {
  readonly fullName: string;
  readonly methods: Readonly<Record<string, { readonly name: string; readonly requestType: Message; readonly responseType: Message }>>;
}

function addService(
  server: Server,
  { fullName, methods }: Definition,
  handlers: Readonly<Record<string, handleUnaryCall<never, unknown>>>,
): void {
  const definition = Object.fromEntries(
    Object.entries(methods).map(([key, { name, requestType, responseType }]) => [
      key,
      {
        path: `/${fullName}/${name}`,
        requestStream: false,
        responseStream: false,
        requestSerialize: (message: never) => Buffer.from(requestType.encode(message).finish()),
        requestDeserialize: (bytes: Buffer) => requestType.decode(bytes),
        responseSerialize: (message: never) => Buffer.from(responseType.encode(responseType.fromPartial(message) as never).finish()),
        responseDeserialize: (bytes: Buffer) => responseType.decode(bytes),
      },
    ]),
  );
  server.addService(definition as unknown as ServiceDefinition, handlers as unknown as UntypedServiceImplementation);
}

/** Rejects with RpcFailure. */
async function answer(method: Method, name: string, request: never, entry: Pick<JournalEntry, 'method'>): Promise<unknown> {
  const startMs = Date.now();
  let code = 0;
  try {
    return await run(method, name, request);
  } catch (err) {
    const failure = err instanceof RpcFailure ? err : new RpcFailure(status.INTERNAL, (err as Error).message);
    code = failure.code;
    throw failure;
  } finally {
    record({ ...entry, request, startMs, endMs: Date.now(), code });
  }
}

function nodeHandler(method: Method): handleUnaryCall<never, unknown> {
  const { name } = NodeDefinition.methods[method];
  return (call, reply) => {
    const request = call.request as { readonly volumeId?: string; readonly stagingTargetPath?: string; readonly targetPath?: string };
    const { volumeId: volumeID, stagingTargetPath, targetPath } = request;
    const entry = {
      method: name,
      ...(volumeID !== undefined && { volumeID }),
      ...(stagingTargetPath && { stagingTargetPath }),
      ...(targetPath && { targetPath }),
    };
    void answer(method, name, call.request, entry).then(
      (response) => reply(null, response),
      (err: RpcFailure) => reply({ code: err.code, details: err.message }),
    );
  };
}

async function listen(server: Server, path: string): Promise<void> {
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { force: true });
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix://${path}`, ServerCredentials.createInsecure(), (err) => (err ? reject(err) : resolve())),
  );
}

mkdirSync(stateDir, { recursive: true });
const node = new Server();
addService(
  node,
  NodeDefinition,
  Object.fromEntries((Object.keys(NodeDefinition.methods) as Method[]).map((method) => [method, nodeHandler(method)])),
);
await listen(node, options.socket);

const registration = new Server();
addService(registration, RegistrationDefinition, {
  getInfo: (_, reply) =>
    reply(null, { type: 'CSIPlugin', name: options.name, endpoint: options.socket, supportedVersions: options.versions ?? ['1.0.0'] }),
  notifyRegistrationStatus: (call, reply) => {
    record({ method: 'NotifyRegistrationStatus', request: call.request, startMs: Date.now(), endMs: Date.now(), code: 0 });
    reply(null, {});
  },
});
await listen(registration, options.registrationSocket);

/** As a driver whose pod ends: the sockets are removed. */
process.on('SIGTERM', () => {
  rmSync(options.registrationSocket, { force: true });
  rmSync(options.socket, { force: true });
  process.exit(0);
});
console.log('ready');
