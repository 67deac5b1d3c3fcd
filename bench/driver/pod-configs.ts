/**
 * The runtime configs of the bare driver's pods: one container without security context, limits or DNS settings, configured as every kubelet
 * does. The configs (cgroups, masked paths, mounts, log) cause a large part of a start's cost, so a floor without them would not be
 * comparable.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { removeCgroupWithin } from '../../lab/host/cgroups.ts';
import { NamespaceMode, SecurityProfile_ProfileType } from '../../src/shared/cri/generated/cri-v1.ts';
import { maskedPaths, readonlyPaths } from '../../src/workers/pod-sync/pod/runtime-config/container-security-context.ts';

export interface BareMount {
  readonly hostPath: string;
  readonly containerPath: string;
}

export interface BareContainer {
  readonly image: string;
  readonly command: readonly string[];
  readonly mounts: readonly BareMount[];
}

const namespace = 'bench';
const containerName = 'app';
const namespaceOptions = { network: NamespaceMode.POD, pid: NamespaceMode.CONTAINER, ipc: NamespaceMode.POD };
/** The resources of a BestEffort pod. */
const resources = { cpuPeriod: 100_000n, cpuShares: 2n };
const oomScoreAdj = 1000n;

/** Owns a folder for the pods' files and a cgroup for all pods. */
export class PodConfigs {
  readonly #folder = mkdtempSync(join(tmpdir(), 'bare-pods-'));
  readonly #cgroup = `/${basename(this.#folder)}`;

  sandbox(name: string) {
    const uid = `uid-${name}`;
    return {
      metadata: { name, namespace, uid, attempt: 0 },
      hostname: name,
      logDirectory: join(this.#folder, name, 'logs'),
      dnsConfig: { servers: ['10.96.0.10'], searches: [`${namespace}.svc.cluster.local`, 'svc.cluster.local'], options: ['ndots:5'] },
      labels: labels(name),
      annotations: { 'kubernetes.io/config.source': 'api' },
      linux: {
        cgroupParent: `${this.#cgroup}/besteffort/pod${uid}`,
        securityContext: { namespaceOptions, seccomp: { profileType: SecurityProfile_ProfileType.RuntimeDefault } },
        resources,
      },
    };
  }

  /** Creates the container's hosts file and termination log. */
  container(name: string, { image, command, mounts }: BareContainer) {
    const [hosts, terminationLog] = [join(this.#folder, name, 'etc-hosts'), join(this.#folder, name, 'termination-log')];
    mkdirSync(join(this.#folder, name, 'logs', containerName), { recursive: true });
    writeFileSync(hosts, `127.0.0.1\tlocalhost\n`);
    writeFileSync(terminationLog, '');
    return {
      metadata: { name: containerName },
      image: { image },
      command,
      envs: [{ key: 'KUBERNETES_SERVICE_HOST', value: Buffer.from('10.96.0.1') }],
      mounts: [
        ...mounts.map((mount) => ({ ...mount, readonly: true })),
        { hostPath: hosts, containerPath: '/etc/hosts' },
        { hostPath: terminationLog, containerPath: '/dev/termination-log' },
      ],
      labels: { ...labels(name), 'io.kubernetes.container.name': containerName },
      annotations: { 'io.kubernetes.container.restartCount': '0', 'io.kubernetes.container.terminationMessagePolicy': 'File' },
      logPath: join(containerName, '0.log'),
      linux: { resources: { ...resources, oomScoreAdj }, securityContext: { namespaceOptions, maskedPaths, readonlyPaths } },
    };
  }

  /** Must be called after the pods are removed. */
  async remove(): Promise<void> {
    rmSync(this.#folder, { recursive: true, force: true });
    await removeCgroupWithin(this.#cgroup, 1000);
  }
}

function labels(name: string) {
  return { 'io.kubernetes.pod.name': name, 'io.kubernetes.pod.namespace': namespace, 'io.kubernetes.pod.uid': `uid-${name}` };
}
