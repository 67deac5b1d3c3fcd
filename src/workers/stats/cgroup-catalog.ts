/**
 * Finds the cgroups to measure. Each sample lists the three QoS cgroups for the cgroups of pods, and the cgroup of a pod only when the runtime snapshot
 * has a container or sandbox that is not known yet: on an idle node, a sample lists three directories. Cgroups that tenants create below the cgroups of
 * their containers are not measured, because their number has no limit.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import { qosClasses } from '../../shared/kubernetes/qos-class.ts';
import { cgroupPath, podUIDOfCgroup, qosCgroup, type CgroupDriver } from '../../shared/cgroups/cgroup-names.ts';
import type { SnapshotItem } from '../../shared/state/runtime-snapshot.ts';
import type { CgroupIdentity, CgroupKind } from '../../shared/state/usage-table.ts';
import { listingDirectory, type CgroupHierarchy } from './cgroup-reader.ts';
import { containerIDOfCgroup } from './container-cgroup-names.ts';

/** The cgroups of the system containers that upstream shows in /stats/summary. Empty: there is none. */
export interface SystemCgroups {
  readonly kubelet: string;
  readonly runtime: string;
  readonly misc: string;
}

export interface CgroupCatalogOptions {
  readonly hierarchy: CgroupHierarchy;
  readonly driver: () => CgroupDriver;
  readonly cgroupRoot: string;
  readonly systemCgroups: SystemCgroups;
}

interface KnownPod {
  readonly identity: CgroupIdentity;
  /** The cgroups of its containers and sandboxes, by path. */
  readonly children: Map<string, CgroupIdentity>;
}

export type PodName = Pick<SnapshotItem, 'podName' | 'podNamespace'>;
interface FoundPod {
  readonly path: string;
  readonly podUID: PodUID;
  readonly name: PodName | undefined;
}

const noPod = { podUID: '', podName: '', podNamespace: '', containerName: '', containerID: '', image: '' } as const;

export class CgroupCatalog {
  readonly #options: CgroupCatalogOptions;
  /** The pods' cgroups, by path. */
  readonly #pods = new Map<string, KnownPod>();
  /** The cgroups that are no pod's, by kind and path. */
  readonly #fixed = new Map<string, CgroupIdentity>();

  constructor(options: CgroupCatalogOptions) {
    this.#options = options;
  }

  /**
   * Returns the cgroups to measure now.
   * @param items the running items of the runtime, by pod
   * @param names of pods that the runtime knows. A pod keeps its name while it has a cgroup, also between two sandboxes.
   */
  find(items: ReadonlyMap<PodUID, readonly SnapshotItem[]>, names: ReadonlyMap<PodUID, PodName>): CgroupIdentity[] {
    const driver = this.#options.driver();
    const layout = { cgroupRoot: this.#options.cgroupRoot, cgroupsPerQOS: true };
    const parents = qosClasses.map((qos) => cgroupPath(qosCgroup(layout, qos), driver));
    const found = this.#fixedCgroups(parents);
    const present = new Set<string>();
    for (const parent of parents) {
      for (const directory of this.#children(parent)) {
        const uid = podUIDOfCgroup(directory, driver);
        if (uid === undefined) continue;
        const path = join(parent, directory);
        present.add(path);
        this.#addPod({ path, podUID: uid as PodUID, name: names.get(uid as PodUID) }, items.get(uid as PodUID) ?? [], found);
      }
    }
    for (const path of this.#pods.keys()) if (!present.has(path)) this.#pods.delete(path);
    return found;
  }

  /** Forgets a cgroup that could not be read any more. */
  forget({ kind, path }: CgroupIdentity): void {
    if (kind !== 'sandbox' && kind !== 'container') return;
    for (const { children } of this.#pods.values()) children.delete(path);
  }

  #addPod({ path, podUID, name }: FoundPod, items: readonly SnapshotItem[], found: CgroupIdentity[]): void {
    let pod = this.#pods.get(path);
    if (!pod || (name && pod.identity.podName !== name.podName)) {
      const createdAtMs = pod?.identity.createdAtMs ?? this.#createdAtMs(path);
      const identity = { ...noPod, ...name, kind: 'pod', path, podUID, createdAtMs } as const;
      this.#pods.set(path, (pod = { identity, children: pod?.children ?? new Map<string, CgroupIdentity>() }));
    }
    found.push(pod.identity);
    const byID = new Map(items.map((item) => [item.id as string, item]));
    const knownIDs = new Set(Array.from(pod.children.values(), ({ containerID }) => containerID as string));
    if ([...byID.keys()].some((id) => !knownIDs.has(id))) this.#addChildren(pod, byID, knownIDs);
    for (const [childPath, child] of pod.children) {
      const item = byID.get(child.containerID);
      if (!item) {
        pod.children.delete(childPath);
        continue;
      }
      // The image's name may be known later than the container.
      const identity = item.image === child.image ? child : { ...child, image: item.image };
      pod.children.set(childPath, identity);
      found.push(identity);
    }
  }

  #addChildren({ identity, children }: KnownPod, byID: ReadonlyMap<string, SnapshotItem>, knownIDs: ReadonlySet<string>): void {
    for (const directory of this.#children(identity.path)) {
      const item = byID.get(containerIDOfCgroup(directory));
      if (!item || knownIDs.has(item.id)) continue;
      const path = join(identity.path, directory);
      const { kind, podName, podNamespace, containerName, image, createdAtMs } = item;
      children.set(path, {
        kind,
        path,
        podUID: identity.podUID,
        podName,
        podNamespace,
        containerName,
        containerID: item.id,
        image,
        // The modification time of the directory changes when the container creates a cgroup below its own.
        createdAtMs: createdAtMs > 0 ? createdAtMs : this.#createdAtMs(path),
      });
    }
  }

  #fixedCgroups(parents: readonly string[]): CgroupIdentity[] {
    const { systemCgroups } = this.#options;
    const wanted: [CgroupKind, string][] = [
      ['root', '/'],
      ['kubelet', systemCgroups.kubelet],
      ['runtime', systemCgroups.runtime],
      ['misc', systemCgroups.misc],
      // The parent of Guaranteed pods is the cgroup of all pods.
      ['pods', parents[0]!],
      ...parents.map((path): [CgroupKind, string] => ['qos', path]),
    ];
    return wanted.flatMap(([kind, path]) => {
      if (path === '') return [];
      const key = `${kind} ${path}`;
      let identity = this.#fixed.get(key);
      if (!identity) this.#fixed.set(key, (identity = { ...noPod, kind, path, createdAtMs: this.#createdAtMs(path) }));
      return [identity];
    });
  }

  #children(path: string): string[] {
    try {
      const entries = readdirSync(listingDirectory(this.#options.hierarchy, path), { withFileTypes: true });
      return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
    } catch (err) {
      if (['ENOENT', 'ENODEV'].includes((err as NodeJS.ErrnoException).code ?? '')) return [];
      throw err;
    }
  }

  /**
   * Returns the older modification time of the directory and of one of its files. The directory's time changes with its children; the file's time is set at
   * the first look-up of the file.
   * cadvisor does the same (GetSpec of container/common/helpers.go).
   */
  #createdAtMs(path: string): number {
    const directory = listingDirectory(this.#options.hierarchy, path);
    const file = this.#options.hierarchy.version === 2 ? 'cgroup.events' : 'cgroup.clone_children';
    const times = [directory, join(directory, file)].map((each) => statSync(each, { throwIfNoEntry: false })?.mtimeMs ?? Infinity);
    const oldest = Math.min(...times);
    return Number.isFinite(oldest) ? oldest : 0;
  }
}
