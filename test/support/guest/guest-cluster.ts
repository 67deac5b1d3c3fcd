/** A control plane in a guest: etcd and an API server. The guest's node joins it, and kubectl there is its admin's. */
import { dirname, join } from 'node:path';
import type { Guest } from '../../../scripts/host/guest/guest.ts';
import { ensureControlPlane } from '../../../scripts/host/programs/control-plane.ts';
import type { Container, PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { aBusybox, aManifest } from '../kubelet/test-node.ts';

const project = join(import.meta.dirname, '../../..');

export interface GuestCluster {
  /** The folder with the programs of the control plane, which the guest must share. */
  readonly programs: string;
  /** The command for a shell of the guest. */
  readonly kubectl: string;
  /** Starts the control plane. Returns the flags and fields of KubeletConfiguration of the node. */
  start(guest: Guest): Promise<{ readonly config: object; readonly flags: readonly string[] }>;
}

/** Builds the programs where they are missing. */
export async function aGuestCluster(): Promise<GuestCluster> {
  const programs = dirname((await ensureControlPlane(console.log)).kubectl);
  return { programs, kubectl: `KUBECONFIG=/srv/cluster/admin.kubeconfig ${programs}/kubectl`, start: (guest) => start(guest, programs) };
}

async function start(guest: Guest, programs: string): Promise<{ readonly config: object; readonly flags: readonly string[] }> {
  await guest.check(
    'ip link add node0 type dummy && ip addr add 192.168.77.2/24 dev node0 && ip link set node0 up && ip route add default via 192.168.77.1',
  );
  const script = `${project}/test/support/guest/start-control-plane.ts`;
  const command = `KUBEBUILDER_ASSETS=${programs} ${project}/node_modules/.bin/node ${script} /srv/cluster guest`;
  const { kubeconfig, configuration } = JSON.parse(await guest.check(command, { timeoutMs: 300_000 })) as {
    readonly kubeconfig: string;
    readonly configuration: object;
  };
  return { config: { ...configuration, readOnlyPort: 10_255 }, flags: [`--kubeconfig=${kubeconfig}`, '--node-ip=192.168.77.2'] };
}

/** A pod that the API server knows and that the guest's node runs. */
export function onNode(name: string, container: Partial<Container> & { readonly sh?: string }, spec: Partial<PodSpec> = {}): object {
  return aManifest(name, {
    nodeName: 'guest',
    enableServiceLinks: false,
    automountServiceAccountToken: false,
    containers: [aBusybox(container)],
    ...spec,
  });
}
