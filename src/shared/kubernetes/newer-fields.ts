/**
 * Adds fields of v1.37 to the client library's types, which are those of v1.36. A version of the library that has a field makes its declaration
 * here superfluous. Types only.
 */

/** The ID of a user, 0 to 2³¹ − 1. */
export type UserID = number;

declare module '@kubernetes/client-node/dist/gen/models/V1EmptyDirVolumeSource.js' {
  interface V1EmptyDirVolumeSource {
    mode?: number;
  }
}
declare module '@kubernetes/client-node/dist/gen/models/V1SecretVolumeSource.js' {
  interface V1SecretVolumeSource {
    defaultUser?: UserID;
  }
}
declare module '@kubernetes/client-node/dist/gen/models/V1ConfigMapVolumeSource.js' {
  interface V1ConfigMapVolumeSource {
    defaultUser?: UserID;
  }
}
declare module '@kubernetes/client-node/dist/gen/models/V1DownwardAPIVolumeSource.js' {
  interface V1DownwardAPIVolumeSource {
    defaultUser?: UserID;
  }
}
declare module '@kubernetes/client-node/dist/gen/models/V1ProjectedVolumeSource.js' {
  interface V1ProjectedVolumeSource {
    defaultUser?: UserID;
  }
}
declare module '@kubernetes/client-node/dist/gen/models/V1KeyToPath.js' {
  interface V1KeyToPath {
    user?: UserID;
  }
}
declare module '@kubernetes/client-node/dist/gen/models/V1DownwardAPIVolumeFile.js' {
  interface V1DownwardAPIVolumeFile {
    user?: UserID;
  }
}
declare module '@kubernetes/client-node/dist/gen/models/V1ServiceAccountTokenProjection.js' {
  interface V1ServiceAccountTokenProjection {
    user?: UserID;
  }
}
declare module '@kubernetes/client-node/dist/gen/models/V1ClusterTrustBundleProjection.js' {
  interface V1ClusterTrustBundleProjection {
    user?: UserID;
  }
}
declare module '@kubernetes/client-node/dist/gen/models/V1PodCertificateProjection.js' {
  interface V1PodCertificateProjection {
    user?: UserID;
  }
}
declare module '@kubernetes/client-node/dist/gen/models/V1VolumeMount.js' {
  interface V1VolumeMount {
    bindMountOptions?: string[];
  }
}
declare module '@kubernetes/client-node/dist/gen/models/V1HTTPGetAction.js' {
  interface V1HTTPGetAction {
    /** `HTTP1` or `HTTP2`. Text, since a pod that is not validated yet may have another value. */
    protocol?: string;
  }
}
declare module '@kubernetes/client-node/dist/gen/models/V1GRPCAction.js' {
  interface V1GRPCAction {
    /** `Plaintext` or `TLS`, as above. */
    mode?: string;
  }
}
declare module '@kubernetes/client-node/dist/gen/models/V1PodStatus.js' {
  interface V1PodStatus {
    volumeHealth?: NodeVolumeHealth[];
  }
}

/** Upstream's PodVolumeHealth. */
interface NodeVolumeHealth {
  /** The name of the volume in the pod. */
  name: string;
  /** Empty: the volume was unhealthy, and is not any more. */
  healthConditions?: { status: 'Inaccessible' | 'DataLoss' | 'Degraded'; reason: string; message?: string }[];
  lastTransitionTime?: Date;
}
