/** What the API server demands beside a field, so that a pod with a large value in it is admitted. Pure. */
import { busybox } from '../kubelet/test-node.ts';

export type Value = string | number | boolean | Tree | readonly Value[];
export interface Tree {
  readonly [name: string]: Value;
}

interface Rule {
  /** The end of the path of the object that has the field. */
  readonly at: string;
  /** The fields for which the rule counts; all when absent. */
  readonly beside?: readonly string[];
  /** `#` is the number of the element. */
  readonly values: Tree;
}

const selectorTerm = { topologyKey: 'k', labelSelector: { matchLabels: { a: 'b' } } };
const claimSpec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const keyedItem = { key: 'k#', path: 'p#' };
/** Of the image that test nodes have. */
const container = { image: busybox, imagePullPolicy: 'Never' };

/** All rules that match are merged, the last one wins. */
const rules: readonly Rule[] = [
  { at: 'metadata.ownerReferences[]', values: { apiVersion: 'v1', kind: 'Pod', name: 'owner', uid: 'u#' } },
  { at: 'spec.containers[]', values: { name: 'c#', ...container, command: ['sleep', '1000'] } },
  { at: 'spec.initContainers[]', values: { name: 'i#', ...container, command: ['true'] } },
  { at: 'ontainers[]', beside: ['restartPolicyRules'], values: { restartPolicy: 'Never' } },
  { at: '.restartPolicyRules[]', values: { action: 'Restart', exitCodes: { operator: 'In', values: [1] } } },
  { at: '.exitCodes', values: { operator: 'In', values: [1] } },
  { at: '.env[]', values: { name: 'E#' } },
  { at: '.envFrom[]', beside: ['prefix', ''], values: { configMapRef: { name: 'c', optional: true } } },
  { at: '.envFrom[].configMapRef', values: { name: 'c', optional: true } },
  { at: '.envFrom[].secretRef', values: { name: 's', optional: true } },
  { at: '.configMapKeyRef', values: { name: 'c', key: 'k', optional: true } },
  { at: '.secretKeyRef', values: { name: 's', key: 'k', optional: true } },
  { at: '.fileKeyRef', values: { volumeName: 'v0', path: 'p', key: 'k', optional: true } },
  { at: '.fieldRef', values: { fieldPath: 'metadata.name' } },
  { at: '.resourceFieldRef', values: { resource: 'limits.cpu', containerName: 'c0' } },
  { at: '.ports[]', values: { containerPort: 1 } },
  { at: '.volumeMounts[]', values: { name: 'v0', mountPath: '/m#' } },
  { at: '.volumeDevices[]', values: { name: 'v0', devicePath: '/d#' } },
  { at: '.resizePolicy[]', values: { resourceName: 'cpu', restartPolicy: 'NotRequired' } },
  { at: '.resources.claims[]', values: { name: 'r0', request: 'q#' } },
  { at: '.httpGet', values: { port: 1 } },
  { at: '.httpGet.httpHeaders[]', values: { name: 'X-#', value: '' } },
  { at: '.tcpSocket', values: { port: 1 } },
  { at: '.grpc', values: { port: 1 } },
  { at: '.seccompProfile', values: { type: 'Localhost', localhostProfile: 'p' } },
  { at: '.appArmorProfile', values: { type: 'Localhost', localhostProfile: 'p' } },
  { at: '.sysctls[]', values: { name: 'kernel.shm_rmid_forced', value: '0' } },
  { at: 'spec.volumes[]', values: { name: 'v#' } },
  { at: '.hostPath', values: { path: '/tmp' } },
  { at: '.volumes[].secret', values: { secretName: 's', optional: true } },
  { at: '.volumes[].configMap', values: { name: 'c', optional: true } },
  { at: '.sources[].secret', values: { name: 's', optional: true } },
  { at: '.sources[].configMap', values: { name: 'c', optional: true } },
  { at: '.sources[]', beside: [''], values: { configMap: { name: 'c#', optional: true } } },
  { at: 'ecret.items[]', values: keyedItem },
  { at: 'onfigMap.items[]', values: keyedItem },
  { at: '.downwardAPI.items[]', values: { path: 'p#' } },
  { at: '.downwardAPI.items[]', beside: ['path', ''], values: { fieldRef: { fieldPath: 'metadata.name' } } },
  { at: '.serviceAccountToken', values: { path: 'token' } },
  { at: '.clusterTrustBundle', values: { path: 'bundle', optional: true } },
  { at: '.clusterTrustBundle', beside: ['path', 'labelSelector'], values: { signerName: 'example.com/s' } },
  { at: '.clusterTrustBundle', beside: ['path', 'signerName'], values: { labelSelector: {} } },
  { at: '.podCertificate', values: { signerName: 'example.com/s', keyType: 'ED25519', credentialBundlePath: 'b' } },
  { at: '.volumes[].csi', values: { driver: 'driver.example' } },
  { at: '.volumes[].image', values: { reference: busybox, pullPolicy: 'Never' } },
  { at: '.volumeClaimTemplate', values: { spec: claimSpec } },
  { at: '.volumeClaimTemplate.spec', values: claimSpec },
  { at: '.volumeClaimTemplate.spec.resources', values: claimSpec.resources },
  { at: '.dataSource', values: { kind: 'PersistentVolumeClaim', name: 'n' } },
  { at: '.dataSourceRef', values: { kind: 'PersistentVolumeClaim', name: 'n' } },
  { at: '.persistentVolumeClaim', values: { claimName: 'c' } },
  { at: '.nfs', values: { server: 'localhost', path: '/' } },
  { at: '.gcePersistentDisk', values: { pdName: 'd' } },
  { at: '.awsElasticBlockStore', values: { volumeID: 'd' } },
  { at: '.gitRepo', values: { repository: 'r' } },
  { at: '.iscsi', values: { targetPortal: '127.0.0.1', iqn: 'iqn.2001-04.com.example:d', lun: 0 } },
  { at: '.glusterfs', values: { endpoints: 'e', path: 'p' } },
  { at: '.rbd', values: { monitors: ['m'], image: 'i' } },
  { at: '.flexVolume', values: { driver: 'example.com/d' } },
  { at: '.cinder', values: { volumeID: 'd' } },
  { at: '.cephfs', values: { monitors: ['m'] } },
  { at: '.flocker', beside: ['datasetName'], values: { datasetName: 'd' } },
  { at: '.fc', beside: ['fsType', 'targetWWNs'], values: { targetWWNs: ['w'], lun: 0 } },
  { at: '.azureFile', values: { secretName: 's', shareName: 's' } },
  { at: '.vsphereVolume', values: { volumePath: 'p' } },
  { at: '.quobyte', values: { registry: 'host:1', volume: 'v' } },
  { at: '.azureDisk', values: { diskName: 'd', diskURI: '/subscriptions/d' } },
  { at: '.photonPersistentDisk', values: { pdID: 'd' } },
  { at: '.portworxVolume', values: { volumeID: 'd' } },
  { at: '.scaleIO', values: { gateway: 'g', system: 's', volumeName: 'v', secretRef: { name: 's' } } },
  { at: '.storageos', values: { volumeName: 'v' } },
  { at: 'preferredDuringSchedulingIgnoredDuringExecution[]', values: { weight: 1 } },
  { at: 'nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[]', beside: [''], values: { preference: {} } },
  { at: 'podAffinity.preferredDuringSchedulingIgnoredDuringExecution[]', beside: [''], values: { podAffinityTerm: selectorTerm } },
  { at: 'podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[]', beside: [''], values: { podAffinityTerm: selectorTerm } },
  { at: '.podAffinityTerm', values: selectorTerm },
  { at: 'podAffinity.requiredDuringSchedulingIgnoredDuringExecution[]', values: selectorTerm },
  { at: 'podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[]', values: selectorTerm },
  { at: '.matchExpressions[]', values: { key: 'k#', operator: 'Exists' } },
  { at: '.matchExpressions[]', beside: ['values'], values: { key: 'k', operator: 'In' } },
  { at: '.matchFields[]', values: { key: 'metadata.name', operator: 'In', values: ['n'] } },
  { at: '.topologySpreadConstraints[]', values: { maxSkew: 1, topologyKey: 'k#', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: {} } },
  { at: '.tolerations[]', values: { key: 'k#', operator: 'Exists' } },
  { at: '.tolerations[]', beside: ['value'], values: { operator: 'Equal' } },
  { at: '.hostAliases[]', values: { ip: '127.0.0.1' } },
  { at: '.imagePullSecrets[]', values: { name: 's#' } },
  { at: '.readinessGates[]', values: { conditionType: 'example.com/g#' } },
  { at: '.dnsConfig.options[]', values: { name: 'o#' } },
  { at: '.schedulingGates[]', values: { name: 'g#' } },
  { at: '.resourceClaims[]', values: { name: 'r#' } },
  { at: '.resourceClaims[]', beside: ['name', ''], values: { resourceClaimName: 'c' } },
];

/**
 * Returns the values beside a field of the object at the path.
 * @param field empty for an element of a list that has many
 */
export function neighboursOf(path: readonly string[], field: string, index: number): Tree {
  const key = toText(path);
  const found = rules.filter(({ at, beside }) => key.endsWith(at) && (beside?.includes(field) ?? true)).map(({ values }) => values);
  return numbered(Object.assign({}, ...found) as Tree, index);
}

function numbered(tree: Tree, index: number): Tree {
  const entries = Object.entries(tree).map(([name, value]): [string, Value] => {
    if (typeof value === 'string') return [name, value.replace('#', String(index))];
    return [name, typeof value === 'object' && !Array.isArray(value) ? numbered(value as Tree, index) : value];
  });
  return Object.fromEntries(entries);
}

/** What the value of a field begins with, by the end of the field's path. */
const prefixes: readonly (readonly [end: string, prefix: string])[] = [
  ['.finalizers[]', 'example.com/'],
  ['.conditionType', 'example.com/'],
  ['.signerName', 'example.com/'],
  ['.nfs.path', '/'],
  ['.iqn', 'iqn.2001-04.com.example:'],
  ['.initiatorName', 'iqn.2001-04.com.example:'],
  ['.registry', 'host:1'],
  ['.diskURI', '/subscriptions/'],
  ['.fieldPath', "metadata.annotations['"],
  ['.flexVolume.driver', 'example.com/'],
];
const suffixes: readonly (readonly [end: string, suffix: string])[] = [['.fieldPath', "']"]];

/** Returns the text with what the field's format demands around it. */
export function formatted(path: readonly string[], text: string): string {
  const at = (rows: readonly (readonly [string, string])[]) => rows.find(([end]) => toText(path).endsWith(end))?.[1] ?? '';
  return `${at(prefixes)}${text}${at(suffixes)}`;
}

function toText(path: readonly string[]): string {
  return path.join('.').replaceAll('.[]', '[]');
}
