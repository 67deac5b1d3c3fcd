/**
 * Mounts local persistent volumes into the folders of pods, and ends these mounts (upstream pkg/volume/local). The mount table is the whole state: the mount
 * in a pod's folder is the last step, so it proves that the earlier steps were done, also by Go's kubelet or before a restart. Operations on one volume run
 * one after the other.
 */
import { mkdir, readdir, rmdir } from 'node:fs/promises';
import type { HelperOperations } from '../../../shared/contracts/helper.ts';
import type { LocalVolumeRequest, UnpublishVolumeRequest, VolumeReply } from '../../../shared/contracts/volumes.ts';
import { KeyedSequence } from '../../../shared/concurrency/keyed-sequence.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { podsDir } from '../../../shared/kubernetes/paths.ts';
import { isWithin, readMountsBelow, type MountInfo } from '../../../shared/linux/mountinfo.ts';
import { nextBackoffMs, withJitter } from '../../../shared/time/backoff.ts';
import { changeGroup, type ChangeGroupOptions } from '../change-group.ts';
import { HangingVolumes } from './hanging-volumes.ts';
import { bindMount, FilesystemMismatch, formatAndMount, remount } from './host-programs.ts';
import { deviceMountPath, deviceMountsDir, localTarget, mountAt, podMountsNamed, podMountsOf } from './local-paths.ts';
import { bindRemountOptions, hasFlags } from './mount-options.ts';

/** The helper serves local volumes only, so that a disk that hangs does not occupy a process that CSI volumes need. */
export interface LocalVolumesOptions extends ChangeGroupOptions {
  /** Without symlinks. */
  readonly rootDir: string;
}

/** A publication that waits or is under way. */
interface Pending {
  readonly controller: AbortController;
  /** The last step, which makes the mount. Null: it has not begun, and does not begin after an abort. */
  binding: Promise<void> | null;
}

type Source = HelperOperations['inspectVolumeSource']['reply'];

const defaultFsType = 'ext4';
/** Upstream's back-off of operations (pkg/util/goroutinemap/exponentialbackoff). */
const backoff = { initialMs: 500, maxMs: 122_000 };
/** The most mounts on one path that are unmounted: more than any kubelet makes. */
const maxMounts = 16;
const podEnds = new Error('the pod ends');

export class LocalVolumes {
  readonly #options: LocalVolumesOptions;
  /** Operations in sequence, by the name of the persistent volume. */
  readonly #queues = new KeyedSequence<string>();
  /** Formats and mounts in sequence, by device: two persistent volumes may name one disk. */
  readonly #devices = new KeyedSequence<string>();
  /** Publications that wait or are under way, by target. */
  readonly #pending = new Map<string, Pending>();
  readonly #hanging: HangingVolumes;
  /** Cancel the retries of failed unmounts of devices, by the name of the persistent volume. */
  readonly #retries = new Map<string, () => void>();
  #isClosed = false;

  constructor(options: LocalVolumesOptions) {
    this.#options = options;
    this.#hanging = new HangingVolumes(options.clock);
  }

  /** Never rejects. */
  async publish(request: LocalVolumeRequest): Promise<VolumeReply> {
    const pending: Pending = { controller: new AbortController(), binding: null };
    let target: string | undefined;
    let operation = 'SetUp';
    try {
      const path = (target = localTarget(this.#options.rootDir, request.podUID, request.specName));
      this.#pending.set(path, pending);
      return await this.#queues.run(request.specName, async () => {
        const warning = await this.#publish(request, path, pending, (name) => (operation = name));
        return warning === null ? { outcome: 'done' } : { outcome: 'done', warning };
      });
    } catch (err) {
      const reason = messageOf(err);
      const volume = goQuote(request.specName);
      const message = `MountVolume.${operation} failed for volume ${volume} : ${reason}`;
      if (err instanceof FilesystemMismatch)
        return { outcome: 'failed', message, mismatch: `MountVolume failed for volume ${volume} ${reason}` };
      return { outcome: 'failed', message };
    } finally {
      if (target !== undefined && this.#pending.get(target) === pending) this.#pending.delete(target);
    }
  }

  /** Never rejects. */
  async unpublish({ podUID, specName }: Omit<UnpublishVolumeRequest, 'plugin'>): Promise<VolumeReply> {
    try {
      const target = localTarget(this.#options.rootDir, podUID, specName);
      // The walk of a large volume, or the format of a disk, does not delay the pod's end: nothing is mounted after it.
      const pending = this.#pending.get(target);
      pending?.controller.abort(podEnds);
      await pending?.binding?.catch(() => {});
      await this.#unmount(target);
      void this.#removeIfUnused(specName);
      return { outcome: 'done' };
    } catch (err) {
      return { outcome: 'failed', message: `UnmountVolume.TearDown failed for volume ${goQuote(specName)} : ${messageOf(err)}` };
    }
  }

  /** Unmounts the devices that no pod uses, which were left before the thread started. Never rejects. */
  async removeUnused(): Promise<void> {
    const names = await readdir(deviceMountsDir(this.#options.rootDir)).catch(() => []);
    await Promise.all(names.map((name) => this.#removeIfUnused(name)));
  }

  /** Starts nothing more. Operations that are under way go on. */
  close(): void {
    this.#isClosed = true;
    for (const cancel of this.#retries.values()) cancel();
    this.#retries.clear();
  }

  /** Resolves with a warning for the pod, or null. `begin` names the operation for messages. */
  async #publish(
    request: LocalVolumeRequest,
    target: string,
    pending: Pending,
    begin: (operation: string) => void,
  ): Promise<string | null> {
    const { rootDir } = this.#options;
    const { signal } = pending.controller;
    const { specName, readOnly, fsGroup } = request;
    signal.throwIfAborted();
    const options = [...new Set([...request.mountOptions, ...(readOnly ? ['ro'] : [])])].filter((option) => option !== '').sort();
    const mounts = await readMountsBelow('/');
    const mounted = mountAt(mounts, target);
    if (mounted) {
      // A kubelet that was killed between the bind mount and its remount has left a mount without its flags.
      if (!hasFlags(options, mounted)) await this.#applyOptions(target, target, options);
      return null;
    }
    begin('NewMounter initialization');
    if (request.path.split('/').includes('..')) throw new Error(`invalid path: ${request.path} must not contain '..'`);
    const source = await this.#inspect(request, request.path);
    if (source.type === 'other') throw new Error('only directory and block device are supported');
    begin('SetUp');
    const isExclusive = request.accessModes.length === 1 && request.accessModes[0] === 'ReadWriteOncePod';
    if (isExclusive && podMountsNamed(mounts, rootDir, specName).length > 0)
      throw new Error('volume uses the ReadWriteOncePod access mode and is already in use by another pod');
    begin('MountDevice');
    const path = source.type === 'block' ? await this.#mountDevice(request, source, options, mounts) : source.path;
    begin('SetUp');
    signal.throwIfAborted();
    const others = podMountsOf(await readMountsBelow('/'), rootDir, path);
    const warning = fsGroup && others.length > 0 ? await this.#groupWarning(request, path, fsGroup.fsGroup) : null;
    if (fsGroup && !readOnly && others.length === 0) {
      const group = { ...fsGroup, podUID: request.podUID, path, target };
      await this.#hanging.run(specName, () => changeGroup(this.#options, group, signal));
    }
    signal.throwIfAborted();
    pending.binding = this.#bind(specName, path, target, options);
    await pending.binding;
    return warning;
  }

  async #bind(specName: string, source: string, target: string, options: readonly string[]): Promise<void> {
    await mkdir(target, { recursive: true, mode: 0o750 });
    try {
      await this.#hanging.run(specName, () => bindMount(source, target));
      await this.#applyOptions(source, target, options);
    } catch (err) {
      await this.#unmount(target).catch(() => {});
      throw err;
    }
  }

  #inspect({ specName }: LocalVolumeRequest, path: string): Promise<Source> {
    return this.#hanging.run(specName, () => this.#options.helper.call('inspectVolumeSource', { path }));
  }

  async #applyOptions(source: string, target: string, options: readonly string[]): Promise<void> {
    const mounted = mountAt(await readMountsBelow(target), target);
    if (!mounted) throw new Error(`${target} is not mounted`);
    const remountOptions = bindRemountOptions(options, mounted);
    if (remountOptions) await remount(source, target, remountOptions);
  }

  /** Another pod already uses the volume. Resolves with a warning if the volume's root has another group than this pod's fsGroup. */
  async #groupWarning(request: LocalVolumeRequest, path: string, fsGroup: number): Promise<string | null> {
    const { group } = await this.#inspect(request, path);
    if (group === fsGroup) return null;
    return `The requested fsGroup is ${fsGroup}, but the volume ${request.specName} has GID ${group}. The volume may not be shareable.`;
  }

  /** Resolves with the path at which the device is mounted. */
  async #mountDevice(
    request: LocalVolumeRequest,
    source: Source,
    options: readonly string[],
    mounts: readonly MountInfo[],
  ): Promise<string> {
    const { specName } = request;
    const fsType = request.fsType || defaultFsType;
    const target = deviceMountPath(this.#options.rootDir, specName);
    const mounted = mountAt(mounts, target);
    if (mounted) {
      if (mounted.device === source.device || mounted.source === source.path) return target;
      // Another persistent volume had this name.
      if (this.#usersOf(mounted, mounts).length > 0)
        throw new Error(`${mounted.source} is already mounted to ${target} for another pod, and ${specName} is ${request.path} now`);
      await this.#unmount(target);
    }
    await mkdir(target, { recursive: true, mode: 0o750 });
    try {
      await this.#devices.run(source.path, () =>
        this.#hanging.run(specName, () => formatAndMount({ device: source.path, target, fsType, options })),
      );
    } catch (err) {
      await rmdir(target).catch(() => {});
      const message = `local: failed to mount device ${request.path} at ${target} (fstype: ${fsType}), error ${messageOf(err)}`;
      const { code } = err as NodeJS.ErrnoException;
      throw Object.assign(err instanceof FilesystemMismatch ? new FilesystemMismatch(message) : new Error(message), { code });
    }
    return target;
  }

  #usersOf({ device }: MountInfo, mounts: readonly MountInfo[]): MountInfo[] {
    return mounts.filter((mount) => mount.device === device && isWithin(mount.mountPoint, podsDir(this.#options.rootDir)));
  }

  /** Unmounts everything at this path, and removes the folder, which must be empty. */
  async #unmount(path: string): Promise<void> {
    for (let count = 0; mountAt(await readMountsBelow(path), path); count += 1) {
      if (count === maxMounts) throw new Error(`${path} has more than ${maxMounts} mounts`);
      await this.#options.helper.call('unmount', { target: path, force: false });
    }
    await rmdir(path).catch((err: NodeJS.ErrnoException) => {
      if (err.code !== 'ENOENT') throw err;
    });
  }

  /** Unmounts the volume's device when no pod uses it. Retries after a failure. Never rejects. */
  async #removeIfUnused(specName: string, delayMs?: number): Promise<void> {
    this.#retries.get(specName)?.();
    this.#retries.delete(specName);
    const { rootDir, clock, logger } = this.#options;
    try {
      await this.#queues.run(specName, async () => {
        if (this.#isClosed) return;
        const path = deviceMountPath(rootDir, specName);
        const mounts = await readMountsBelow('/');
        const mounted = mountAt(mounts, path);
        if (!mounted || this.#usersOf(mounted, mounts).length === 0) await this.#unmount(path);
        if (podMountsNamed(mounts, rootDir, specName).length === 0) this.#hanging.forget(specName);
      });
    } catch (err) {
      if (this.#isClosed) return;
      const nextMs = nextBackoffMs(delayMs, backoff);
      const retryAfterMs = withJitter(nextMs, 0.1);
      logger.warn({ volume: specName, err: messageOf(err), retryAfterMs }, 'Could not unmount the device of a local volume');
      this.#retries.set(
        specName,
        clock.after(retryAfterMs, () => void this.#removeIfUnused(specName, nextMs)),
      );
    }
  }
}
