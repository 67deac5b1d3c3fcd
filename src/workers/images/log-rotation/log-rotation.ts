/** The rotation of container logs with the present policy. A change of the policy replaces the manager, once its checks in flight have ended. */
import { isDeepStrictEqual } from 'node:util';
import type { LogRotationPolicy } from '../../../shared/contracts/images.ts';
import type { ContainerLogManager } from './container-log-manager.ts';

type Manager = Pick<ContainerLogManager, 'start' | 'close'>;

export class LogRotation {
  readonly #create: (policy: LogRotationPolicy) => Manager;
  #policy: LogRotationPolicy | null = null;
  #manager: Manager | null = null;
  /** Two managers at a time could rotate one log twice. */
  #replacing: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(create: (policy: LogRotationPolicy) => Manager) {
    this.#create = create;
  }

  /** Null: logs are not rotated. Without effect when the policy is the same. */
  configure(policy: LogRotationPolicy | null): void {
    if (isDeepStrictEqual(policy, this.#policy)) return;
    this.#policy = policy;
    const replace = async () => {
      await this.#manager?.close();
      this.#manager = null;
      // A later call of configure has already set another policy, and replaces the manager itself.
      if (this.#isClosed || this.#policy !== policy || policy === null) return;
      this.#manager = this.#create(policy);
      this.#manager.start();
    };
    this.#replacing = this.#replacing.then(replace, replace);
  }

  /** Resolves when the rotations in flight have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#replacing;
    await this.#manager?.close();
  }
}
