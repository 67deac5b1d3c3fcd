/**
 * Stages, publishes, unpublishes and unstages CSI volumes (upstream pkg/volume/csi and the operation generator of pkg/volume/util). Before each call, a
 * durable record says that the call may have had an effect; after the call, that it has succeeded. A call whose success in this boot is recorded is not
 * repeated.
 */
import { mkdir } from 'node:fs/promises';
import type { PublishVolumeRequest, UnpublishVolumeRequest, VolumeReply } from '../../shared/contracts/volumes.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { KeyedSequence } from '../../shared/concurrency/keyed-sequence.ts';
import { isFinalError, RpcError } from '../../shared/grpc-client/index.ts';
import { grpcCode } from '../../shared/cri/cri-error.ts';
import { goQuote } from '../../shared/kubernetes/go-text.ts';
import { readMountsBelow } from '../../shared/linux/mountinfo.ts';
import { nextBackoffMs, withJitter } from '../../shared/time/backoff.ts';
import { changeGroup, type ChangeGroupOptions } from './change-group.ts';
import type { CsiDriver } from './csi/csi-driver.ts';
import { attachmentName } from '../../shared/kubernetes/attachment-names.ts';
import { stagingPath, targetPath } from './csi/csi-paths.ts';
import { publishRequest, stageRequest } from './csi/node-requests.ts';
import { attachmentKeys, readVolumeData, recordCall, recordCompletion, removeMountFolder } from './csi/volume-data.ts';
import { shouldUnstage, volumeKey, type KnownVolume, type VolumeKey, type VolumeTable } from './volume-table.ts';

export interface VolumeOperationsOptions extends ChangeGroupOptions {
  readonly rootDir: string;
  readonly nodeName: string;
  readonly bootID: string;
  readonly table: VolumeTable;
  /** The registered drivers, by name. */
  readonly drivers: ReadonlyMap<string, CsiDriver>;
}

/** Upstream's back-off of operations (pkg/util/goroutinemap/exponentialbackoff). */
const backoff = { initialMs: 500, maxMs: 122_000 };

export class VolumeOperations {
  readonly #options: VolumeOperationsOptions;
  /** Operations on one volume run one after the other, across pods. */
  readonly #queues = new KeyedSequence<VolumeKey>();
  /** Publications that wait or are under way, by their target. */
  readonly #pending = new Map<string, { readonly volume: KnownVolume; readonly controller: AbortController }>();
  /** Retries of unstages that have failed, with their back-off. */
  readonly #retries = new Map<KnownVolume, { readonly delayMs: number; readonly cancel: () => void }>();

  #isClosed = false;

  constructor(options: VolumeOperationsOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async publish(request: PublishVolumeRequest): Promise<VolumeReply> {
    const { table } = this.#options;
    const volume = table.get(request.driver, request.volumeHandle);
    const target = targetPath(this.#options.rootDir, request.podUID, request.specName);
    const pending = { volume, controller: new AbortController() };
    const { signal } = pending.controller;
    this.#pending.set(target, pending);
    volume.expected += 1;
    table.announce(volume, request.needsAttachment);
    const secrets = [...Object.values(request.stageSecrets), ...Object.values(request.publishSecrets), ...(request.hiddenTexts ?? [])];
    const failed = (operation: string, err: unknown): VolumeReply => {
      const reason = messageOf(err instanceof RpcError ? err.without(secrets) : err);
      return { outcome: 'failed', message: `MountVolume.${operation} failed for volume ${goQuote(request.specName)} : ${reason}` };
    };
    try {
      return await this.#queues.run(keyOf(volume), async () => {
        if (signal.aborted) return failed('SetUp', signal.reason);
        try {
          await this.#stage(volume, request);
        } catch (err) {
          return failed('MountDevice', err);
        }
        if (signal.aborted) return failed('SetUp', signal.reason);
        return this.#publish(volume, request, signal).then(
          () => ({ outcome: 'done' }) as const,
          (err: unknown) => failed('SetUp', err),
        );
      });
    } finally {
      volume.expected -= 1;
      if (this.#pending.get(target) === pending) this.#pending.delete(target);
      this.#afterOperation(volume);
    }
  }

  /** Reads what is published from the record in the pod's folder. Never rejects. */
  async unpublish({ podUID, specName }: Omit<UnpublishVolumeRequest, 'plugin'>): Promise<VolumeReply> {
    const target = targetPath(this.#options.rootDir, podUID, specName);
    try {
      await this.#cancel(target);
      const data = await readVolumeData(target);
      if (data === null || data === 'unreadable') await this.#removeWithoutRecord(target);
      else {
        const volume = this.#options.table.get(data.driver, data.volumeHandle);
        volume.published.set(target, volume.published.get(target) ?? 'uncertain');
        await this.#queues.run(keyOf(volume), () => this.#unpublish(volume, target));
        this.#afterOperation(volume);
      }
      return { outcome: 'done' };
    } catch (err) {
      return { outcome: 'failed', message: `UnmountVolume.TearDown failed for volume ${goQuote(specName)} : ${messageOf(err)}` };
    }
  }

  /** Ends a publication that waits, and resolves when one that has begun has ended. Otherwise it would be made after the end of its pod. */
  async #cancel(target: string): Promise<void> {
    const pending = this.#pending.get(target);
    if (!pending) return;
    pending.controller.abort(new Error('the pod ends'));
    await this.#queues.run(keyOf(pending.volume), async () => {});
  }

  /** Unstages the volumes of a driver that no pod uses, when the driver has registered: earlier unstages may have failed without it, or before a restart. */
  unstageUnused(driver: string): void {
    if (this.#options.table.hasLostRecords) return;
    for (const volume of this.#options.table.ofDriver(driver)) this.#afterOperation(volume, { retryNow: true });
  }

  /** Starts no more unstages. Calls under way go on. */
  close(): void {
    this.#isClosed = true;
    for (const { cancel } of this.#retries.values()) cancel();
    this.#retries.clear();
  }

  async #stage(volume: KnownVolume, request: PublishVolumeRequest): Promise<void> {
    if (request.lifecycle === 'Ephemeral' || volume.staged === 'complete' || request.isRepublish) return;
    const { rootDir, bootID } = this.#options;
    if (volume.published.get(targetPath(rootDir, request.podUID, request.specName)) === 'complete') return;
    const driver = this.#driver(request.driver);
    const capabilities = await driver.capabilities();
    if (!capabilities.stages) return;
    const path = stagingPath(rootDir, request.driver, request.volumeHandle);
    const keys = { volumeHandle: request.volumeHandle, driverName: request.driver, ...attachmentKeys(volume.needsAttachment) };
    await recordCall(path, keys);
    const mayBeStaged = volume.staged !== undefined;
    volume.staged = 'uncertain';
    try {
      await makeFolder(path);
      await driver.call('nodeStageVolume', stageRequest(request, capabilities, path));
    } catch (err) {
      // The operation has ended without effect: nothing is left to be unstaged, unless an earlier call succeeded.
      if (isFinalError(err) && !mayBeStaged && (await removeMountFolder(path))) volume.staged = undefined;
      throw err;
    }
    await recordCompletion(path, keys, bootID);
    volume.staged = 'complete';
  }

  async #publish(volume: KnownVolume, request: PublishVolumeRequest, signal: AbortSignal): Promise<void> {
    const { rootDir, nodeName, bootID } = this.#options;
    const target = targetPath(rootDir, request.podUID, request.specName);
    const isPublished = volume.published.get(target) === 'complete';
    // A republish requires a published volume, a first publish one that is not published yet.
    if (isPublished !== (request.isRepublish ?? false)) return;
    const { driver: driverName, volumeHandle, specName } = request;
    const driver = this.#driver(driverName);
    const capabilities = await driver.capabilities();
    const keys = {
      specVolID: specName,
      volumeHandle,
      driverName,
      nodeName,
      volumeLifecycleMode: request.lifecycle,
      attachmentID: attachmentName(volumeHandle, driverName, nodeName),
      ...attachmentKeys(volume.needsAttachment),
    };
    const paths = { staging: stagingPath(rootDir, driverName, volumeHandle), target };
    if (isPublished) {
      // The record stays: containers use the mount, also when the driver fails.
      await driver.call('nodePublishVolume', publishRequest(request, capabilities, paths));
      return;
    }
    await recordCall(target, keys);
    // An earlier call has begun, and may have succeeded.
    const mayBePublished = volume.published.has(target);
    volume.published.set(target, 'uncertain');
    try {
      await driver.call('nodePublishVolume', publishRequest(request, capabilities, paths));
    } catch (err) {
      if (isFinalError(err) && !mayBePublished && (await removeMountFolder(target))) volume.published.delete(target);
      throw err;
    }
    if (!capabilities.mountGroup) await this.#changeGroup(request, target, signal);
    await recordCompletion(target, keys, bootID);
    volume.published.set(target, 'complete');
  }

  /**
   * Called before the completion is recorded, so that an interrupted walk is repeated together with the driver's call. No container starts before the end of
   * the walk.
   */
  async #changeGroup({ podUID, fsGroup, volumeHandle }: PublishVolumeRequest, path: string, signal: AbortSignal): Promise<void> {
    if (!fsGroup?.appliesToFiles) return;
    await changeGroup(this.#options, { ...fsGroup, podUID, path, target: path }, signal).catch((err: unknown) => {
      throw new Error(`applyFSGroup failed for vol ${volumeHandle}: ${messageOf(err)}`);
    });
  }

  async #unpublish(volume: KnownVolume, target: string): Promise<void> {
    // An earlier operation of the queue may have unpublished the volume.
    const data = await readVolumeData(target);
    if (data !== null && data !== 'unreadable') {
      await recordCall(target, data.keys);
      volume.published.set(target, 'uncertain');
      await this.#driver(volume.driver)
        .call('nodeUnpublishVolume', { volumeId: volume.volumeHandle, targetPath: target })
        .catch((err: unknown) => {
          // An earlier call has unpublished the volume, which ended an ephemeral one.
          const isGone = err instanceof RpcError && err.code === grpcCode.NOT_FOUND && data.keys['volumeLifecycleMode'] === 'Ephemeral';
          if (!isGone) throw err;
        });
      // If the driver has left a mount, the pod's sync unmounts it and removes the folder.
      if (!(await removeMountFolder(target)))
        this.#options.logger.warn({ path: target }, 'The driver has unpublished a volume, and something is left at its path');
    }
    volume.published.delete(target);
  }

  async #removeWithoutRecord(target: string): Promise<void> {
    if ((await readMountsBelow(target)).length > 0)
      throw new Error(`${target} is mounted, and vol_data.json beside it does not say which volume it is: nothing is unpublished`);
    await removeMountFolder(target);
  }

  #afterOperation(volume: KnownVolume, { retryNow = false } = {}): void {
    const { table } = this.#options;
    const retry = this.#retries.get(volume);
    if (shouldUnstage(volume) && (!retry || retryNow)) {
      table.release(volume);
      void this.#queues.run(keyOf(volume), () => this.#unstageIfUnused(volume));
    }
    table.settle(volume);
  }

  /** Never rejects. */
  async #unstageIfUnused(volume: KnownVolume): Promise<void> {
    const { rootDir, table, clock, logger } = this.#options;
    const { driver, volumeHandle } = volume;
    const retry = this.#retries.get(volume);
    retry?.cancel();
    this.#retries.delete(volume);
    if (!shouldUnstage(volume) || this.#isClosed) return;
    const path = stagingPath(rootDir, driver, volumeHandle);
    try {
      volume.staged = 'uncertain';
      await recordCall(path, { volumeHandle, driverName: driver, ...attachmentKeys(volume.needsAttachment) });
      await this.#driver(driver).call('nodeUnstageVolume', { volumeId: volumeHandle, stagingTargetPath: path });
      if (!(await removeMountFolder(path)))
        throw new Error(`the driver has unstaged the volume, and ${path} is still mounted or has files`);
      volume.staged = undefined;
      table.settle(volume);
    } catch (err) {
      if (this.#isClosed) return;
      const delayMs = nextBackoffMs(retry?.delayMs, backoff);
      const retryAfterMs = withJitter(delayMs, 0.1);
      logger.warn({ driver, volumeHandle, err: messageOf(err), retryAfterMs }, 'Could not unstage a volume');
      const again = () => void this.#queues.run(keyOf(volume), () => this.#unstageIfUnused(volume));
      this.#retries.set(volume, { delayMs, cancel: clock.after(retryAfterMs, again) });
    }
  }

  #driver(name: string): CsiDriver {
    const driver = this.#options.drivers.get(name);
    if (!driver) throw new Error(`kubernetes.io/csi: driver name ${name} not found in the list of registered CSI drivers`);
    return driver;
  }
}

function keyOf({ driver, volumeHandle }: KnownVolume) {
  return volumeKey(driver, volumeHandle);
}

/** Not `recursive`, which would call stat(2) on the path: an earlier call may have mounted a filesystem there that hangs. */
async function makeFolder(path: string): Promise<void> {
  await mkdir(path, 0o750).catch((err: NodeJS.ErrnoException) => {
    if (err.code !== 'EEXIST') throw err;
  });
}
