/**
 * Types of the Kubernetes API objects in their JSON form, with times as RFC 3339 strings. They derive from the client library's
 * types. The imports are type-only: at run time the library costs 65 MB per thread, and only main loads it.
 * Every field is read-only, because an object from a source is never modified. Code that builds an object uses `Draft`.
 */
import type {
  V1Container,
  V1ContainerStatus,
  V1EphemeralContainer,
  V1LabelSelector,
  V1NodeAddress,
  V1Pod,
  V1PodCondition,
  V1PodSpec,
  V1PodStatus,
  V1Volume,
} from '@kubernetes/client-node';

export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer U)[]
    ? readonly Wire<U>[]
    : T extends object
      ? { readonly [K in keyof T]: Wire<T[K]> }
      : T;

/** A mutable version of `T`, for code that builds an object. */
export type Draft<T> = T extends readonly (infer U)[] ? Draft<U>[] : T extends object ? { -readonly [K in keyof T]: Draft<T[K]> } : T;

type Metadata = Wire<NonNullable<V1Pod['metadata']>>;

/** A pod with the fields that every pod in this kubelet has: a name, a namespace, a UID and a spec. */
export interface Pod extends Omit<Wire<V1Pod>, 'metadata' | 'spec'> {
  readonly metadata: Metadata & { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly spec: PodSpec;
}
export type PodSpec = Wire<V1PodSpec>;
export type PodStatus = Wire<V1PodStatus>;
export type PodCondition = Wire<V1PodCondition>;
export type Container = Wire<V1Container>;
export type EphemeralContainer = Wire<V1EphemeralContainer>;
export type ContainerStatus = Wire<V1ContainerStatus>;
export type Volume = Wire<V1Volume>;
export type NodeAddress = Wire<V1NodeAddress>;
export type LabelSelector = Wire<V1LabelSelector>;
export type EnvVar = NonNullable<Container['env']>[number];
export type Lifecycle = NonNullable<Container['lifecycle']>;
export type LifecycleHandler = NonNullable<Lifecycle['preStop']>;
export type VolumeMount = NonNullable<Container['volumeMounts']>[number];
export type ResourceRequirements = NonNullable<Container['resources']>;
export type PodSecurityContext = NonNullable<PodSpec['securityContext']>;
export type SecurityContext = NonNullable<Container['securityContext']>;
export type ContainerState = NonNullable<ContainerStatus['state']>;
export type PodVolumeHealth = NonNullable<PodStatus['volumeHealth']>[number];
export type VolumeHealthCondition = NonNullable<PodVolumeHealth['healthConditions']>[number];
/** The object that an event refers to. */
export interface ObjectReference {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly apiVersion?: string;
  /** The version of the object at the time of the event. */
  readonly resourceVersion?: string;
  readonly fieldPath?: string;
}
