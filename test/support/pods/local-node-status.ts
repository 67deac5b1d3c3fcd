/** A LocalNodeStatus for unit tests, with a machine, a runtime and a network that the test controls. */
import { computeFeatureGates } from '../../../src/main/config/feature-gates.ts';
import type { HostNetwork } from '../../../src/main/node/addresses/node-addresses.ts';
import { LocalNodeStatus, type LocalNodeStatusOptions } from '../../../src/main/node/status/local-node-status.ts';
import type { RuntimeInfo } from '../../../src/shared/contracts/pleg.ts';
import type { MachineInfo } from '../../../src/shared/contracts/stats.ts';
import { FakeClock, settle } from '../fake-clock.ts';
import { silentLogger } from '../logger.ts';
import { aHostInterface } from './host-interface.ts';

export function aMachine(changes: Partial<MachineInfo> = {}): MachineInfo {
  return {
    numCores: 2,
    memoryBytes: 4 * 1024 ** 3,
    swapBytes: 0,
    hugePages: [],
    rootFsCapacityBytes: 10 * 1024 ** 3,
    rootFsInodes: 1000,
    machineID: 'machine-1',
    systemUUID: 'uuid-1',
    bootID: 'boot-1',
    kernelVersion: '6.18.0',
    osImage: 'Debian',
    ...changes,
  };
}

export function runtimeFacts(changes: Partial<RuntimeInfo> = {}): RuntimeInfo {
  return {
    runtimeName: 'containerd',
    runtimeVersion: '1.7.24',
    runtimeApiVersion: 'v1',
    conditions: [],
    handlers: [],
    cgroupDriver: null,
    ...changes,
  };
}

export const hostNetwork: HostNetwork = {
  interfaces: [aHostInterface('eth0', ['192.0.2.7'])],
  routes: { ipv4: 'eth0\t00000000\t0102A8C0\n', ipv6: null },
  resolved: [],
};

export const localConfig: LocalNodeStatusOptions['config'] = {
  port: 10250,
  registerWithTaints: [],
  providerID: '',
  enableControllerAttachDetach: true,
  nodeStatusMaxImages: 50,
  systemReserved: {},
  kubeReserved: {},
  evictionHard: {},
  maxPods: 110,
  podsPerCore: 0,
  localStorageCapacityIsolation: true,
};

/** The state that a test may change after the start. */
export interface FakeNodeInputs {
  problems: string[];
  network: string | null;
  unreadable: boolean;
}

const defaultMachine = aMachine();

export async function aLocalNodeStatus(
  changes: Partial<LocalNodeStatusOptions> = {},
): Promise<{ local: LocalNodeStatus; world: FakeNodeInputs }> {
  const world: FakeNodeInputs = { problems: [], network: null, unreadable: false };
  const local = LocalNodeStatus.start({
    nodeName: 'n1',
    config: localConfig,
    flags: { nodeIP: '', cloudProvider: '', nodeLabels: {}, experimentalAllocatableIgnoreEviction: false },
    featureGates: computeFeatureGates({}).gates,
    machine: () => defaultMachine,
    runtimeState: { info: runtimeFacts(), problems: () => world.problems, networkErrors: () => world.network },
    listImages: async () => [],
    readNetwork: async () => hostNetwork,
    clock: new FakeClock(),
    logger: silentLogger,
    ...changes,
  });
  await local.untilNetworkKnown();
  // Lets a list of images that resolves at once arrive.
  await settle();
  return { local, world };
}
