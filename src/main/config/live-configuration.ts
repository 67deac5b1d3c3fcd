/**
 * The configuration of a running kubelet. Some of its fields change (config-reload/). They are not in `KubeletOptions.config`: a part that needs one reads it
 * from `view`, an object whose fields always have the current values. Threads, which have copies, get the new values from wiring/start-config-reload.ts.
 */
import type { ReloadStatus } from './reload-status.ts';
import { toConfigz } from './configz.ts';
import type { KubeletConfiguration } from './kubelet-configuration.ts';
import { effectiveReservations } from './reservations.ts';

/** The fields that change while the kubelet runs. config-reload/live-fields.ts has the effects of the others. */
export type LiveField =
  | 'registryPullQPS'
  | 'registryBurst'
  | 'eventRecordQPS'
  | 'eventBurst'
  | 'nodeStatusReportFrequency'
  | 'imageMinimumGCAge'
  | 'imageMaximumGCAge'
  | 'imageGCHighThresholdPercent'
  | 'imageGCLowThresholdPercent'
  | 'nodeStatusMaxImages'
  | 'kubeAPIQPS'
  | 'kubeAPIBurst'
  | 'evictionHard'
  | 'evictionSoft'
  | 'evictionSoftGracePeriod'
  | 'evictionPressureTransitionPeriod'
  | 'evictionMaxPodGracePeriod'
  | 'evictionMinimumReclaim'
  | 'mergeDefaultEvictionSettings'
  | 'containerLogMaxSize'
  | 'containerLogMaxFiles'
  | 'containerLogMaxWorkers'
  | 'containerLogMonitorInterval';

/** The fields that never change while the kubelet runs, so that a part may keep them. `logging` lacks its verbosity, which does change. */
export type FixedConfiguration = Omit<KubeletConfiguration, LiveField | 'logging'> & {
  readonly logging: Omit<KubeletConfiguration['logging'], 'verbosity'>;
};

/** The fields for which the kubelet may use another value than the files': the runtime's cgroup driver, and its own serving certificate. */
type DetectedValues = Pick<KubeletConfiguration, 'cgroupDriver' | 'tlsCertFile' | 'tlsPrivateKeyFile'>;

export class LiveConfiguration {
  /** The current values, with the effective reservations (reservations.ts). */
  readonly view: KubeletConfiguration;
  #running: KubeletConfiguration;
  #effective: KubeletConfiguration;
  #reload: ReloadStatus | null = null;
  #detected: Partial<DetectedValues> = {};

  constructor(config: KubeletConfiguration) {
    this.#running = config;
    this.#effective = effectiveReservations(config);
    const fields = Object.keys(config) as (keyof KubeletConfiguration)[];
    const getters = fields.map((field) => [field, { get: () => this.#effective[field], enumerable: true }] as const);
    this.view = Object.defineProperties({}, Object.fromEntries(getters)) as KubeletConfiguration;
  }

  /** The configuration as loaded from files, defaults and flags, without effective reservations and detected values. */
  get running(): KubeletConfiguration {
    return this.#running;
  }

  /** Replaces all fields at once. */
  set(config: KubeletConfiguration): void {
    this.#running = config;
    this.#effective = effectiveReservations(config);
  }

  setReloadStatus(status: ReloadStatus): void {
    this.#reload = status;
  }

  /** Sets values that the kubelet uses instead of those in the files. */
  setDetected(values: Partial<DetectedValues>): void {
    this.#detected = { ...this.#detected, ...values };
  }

  /** The body of `/configz`: the values in effect, as upstream. */
  configz(): string {
    return toConfigz({ ...this.#effective, ...this.#detected }, this.#reload);
  }
}
