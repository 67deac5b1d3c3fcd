import assert from 'node:assert/strict';
import { aManifest, errorsOf, type Json } from '../../../../../support/pods/manifests.ts';
import { table } from '../../../../../support/table.ts';

const v = 'spec.volumes[0]';
const volume = (source: Json, name = 'v') => aManifest({ spec: { volumes: [{ name, ...source }] } });
const projected = (...sources: Json[]) => volume({ projected: { sources } });
const claim = (spec: Json) =>
  volume({
    ephemeral: { volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec } } },
  });
const claimSpec = `${v}.ephemeral.volumeClaimTemplate.spec`;

const userRange = 'must be between 0 and 2147483647, inclusive';

const cases: readonly [manifest: Json, ...errors: string[]][] = [
  [volume({}, ''), `${v}.name: Required value`],
  [volume({}, 'a.b'), `${v}.name: Invalid value: "a.b": must not contain dots`],
  [aManifest({ spec: { volumes: [{ name: 'v' }, { name: 'v' }] } }), 'spec.volumes[1].name: Duplicate value: "v"'],
  [volume({ emptyDir: {}, hostPath: { path: '/x' } }), `${v}.hostPath: Forbidden: may not specify more than 1 volume type`],
  [volume({ emptyDir: { sizeLimit: '-1' } }), `${v}.emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity`],
  [
    volume({ emptyDir: { mode: 0o2000 } }),
    `${v}.emptyDir.mode: Invalid value: 1024: must be a number between 0 and 01777 (octal), both inclusive`,
  ],
  [
    volume({ emptyDir: { mode: -1 } }),
    `${v}.emptyDir.mode: Invalid value: -1: must be a number between 0 and 01777 (octal), both inclusive`,
  ],
  [volume({ hostPath: {} }), `${v}.hostPath.path: Required value`],
  [volume({ hostPath: { path: '/a/../b' } }), `${v}.hostPath.path: Invalid value: "/a/../b": must not contain '..'`],
  [
    volume({ hostPath: { path: '/a', type: 'Fifo' } }),
    `${v}.hostPath.type: Unsupported value: "Fifo": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"`,
  ],
  [
    volume({ secret: { secretName: 's', defaultMode: 0o1000 } }),
    `${v}.secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive`,
  ],
  [
    volume({ configMap: { name: 'c', items: [{ key: 'k', path: '..x' }] } }),
    `${v}.configMap.items[0].path: Invalid value: "..x": must not start with '..'`,
  ],
  [
    volume({ downwardAPI: { items: [{ path: 'p' }] } }),
    `${v}.downwardAPI: Required value: one of fieldRef and resourceFieldRef is required`,
  ],
  [
    volume({ downwardAPI: { items: [{ path: 'p', resourceFieldRef: { resource: 'limits.cpu' } }] } }),
    `${v}.downwardAPI.resourceFieldRef.containerName: Required value`,
  ],
  [
    volume({ downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'status.podIP' } }] } }),
    `${v}.downwardAPI.fieldRef.fieldPath: Unsupported value: "status.podIP": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"`,
  ],
  [volume({ secret: { secretName: 's', defaultUser: -1 } }), `${v}.secret.defaultUser: Invalid value: -1: ${userRange}`],
  [
    volume({ configMap: { name: 'c', defaultUser: 2 ** 31, items: [{ key: 'k', path: 'p', user: -1 }] } }),
    `${v}.configMap.defaultUser: Invalid value: 2147483648: ${userRange}`,
    `${v}.configMap.items[0].user: Invalid value: -1: ${userRange}`,
  ],
  [
    volume({ downwardAPI: { defaultUser: -1, items: [{ path: 'p', user: -2, fieldRef: { fieldPath: 'metadata.name' } }] } }),
    `${v}.downwardAPI.defaultUser: Invalid value: -1: ${userRange}`,
    `${v}.downwardAPI.user: Invalid value: -2: ${userRange}`,
  ],
  [
    volume({
      projected: {
        defaultUser: -1,
        sources: [
          { clusterTrustBundle: { name: 'n', path: '..p', user: -2 } },
          { podCertificate: { signerName: 'a.com/s', keyType: 'RSA1', keyPath: 'k', user: -3 } },
        ],
      },
    }),
    `${v}.projected.defaultUser: Invalid value: -1: ${userRange}`,
    `${v}.projected.sources[0].clusterTrustBundle.user: Invalid value: -2: ${userRange}`,
    `${v}.projected.sources[0].clusterTrustBundle.path: Invalid value: "..p": must not start with '..'`,
    `${v}.projected.sources[1].podCertificate.user: Invalid value: -3: ${userRange}`,
    `${v}.projected.sources[1].podCertificate.keyType: Unsupported value: "RSA1": supported values: "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519", "RSA3072", "RSA4096"`,
  ],
  [volume({ persistentVolumeClaim: {} }), `${v}.persistentVolumeClaim.claimName: Required value`],
  [volume({ csi: { driver: 'x'.repeat(64) } }), `${v}.csi.driver: Too long: may not be more than 63 bytes`],
  [volume({ image: {} }), `${v}.image.reference: Required value`],
  [
    volume({ image: { reference: 'x', pullPolicy: 'Ever' } }),
    `${v}.image.pullPolicy: Unsupported value: "Ever": supported values: "Always", "IfNotPresent", "Never"`,
  ],
  [
    projected({ secret: { name: 's', items: [{ key: 'k', path: 'p' }] } }, { configMap: { name: 'c', items: [{ key: 'k', path: 'p' }] } }),
    `${v}.projected: Invalid value: "c": conflicting duplicate paths`,
  ],
  [
    projected({ secret: { name: 's' }, configMap: { name: 'c' } }),
    `${v}.projected.sources[0]: Forbidden: may not specify more than 1 volume type per source`,
  ],
  [
    projected({ serviceAccountToken: { path: 't', expirationSeconds: 5 } }),
    `${v}.projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes`,
    `${v}.projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set`,
  ],
  [
    projected({ clusterTrustBundle: { path: 'p' } }),
    `${v}.projected.sources[0].clusterTrustBundle: Required value: either name or signerName must be specified`,
  ],
  [
    projected({ podCertificate: { signerName: 'x', keyType: 'RSA1', keyPath: 'k' } }),
    `${v}.projected.sources[0].podCertificate.signerName: Invalid value: "x": must be a fully qualified domain and path of the form 'example.com/signer-name'`,
    `${v}.projected.sources[0].podCertificate.keyType: Unsupported value: "RSA1": supported values: "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519", "RSA3072", "RSA4096"`,
  ],
  [volume({ ephemeral: {} }), `${v}.ephemeral.volumeClaimTemplate: Required value`],
  [claim({ accessModes: [] }), `${claimSpec}.accessModes: Required value: at least 1 access mode is required`],
  [
    claim({ accessModes: ['ReadWriteOncePod', 'ReadOnlyMany'] }),
    `${claimSpec}.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes`,
  ],
  [claim({ resources: {} }), `${claimSpec}.resources[storage]: Required value`],
  [claim({ volumeMode: 'Tape' }), `${claimSpec}.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"`],
  [volume({ nfs: { server: 's', path: 'x' } }), `${v}.nfs.path: Invalid value: "x": must be an absolute path`],
  [
    volume({ iscsi: { targetPortal: 't', iqn: 'x', lun: 256 } }),
    `${v}.iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa`,
    `${v}.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive`,
  ],
  [volume({ fc: { targetWWNs: ['a'] } }), `${v}.fc.lun: Required value: lun is required if targetWWNs is specified`],
  [volume({ rbd: { image: 'i' } }), `${v}.rbd.monitors: Required value`],
  [
    volume({ flexVolume: { driver: 'd', options: { 'k8s.io/x': 'y' } } }),
    `${v}.flexVolume.options[k8s.io/x]: Invalid value: "k8s.io/x": kubernetes.io and k8s.io namespaces are reserved`,
  ],
  [
    volume({ azureDisk: { diskName: 'd', diskURI: 'x' } }),
    `${v}.azureDisk.diskURI: Unsupported value: "x": supported values: "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"`,
  ],
  [
    volume({ quobyte: { registry: 'host', volume: 'v' } }),
    `${v}.quobyte.registry: Invalid value: "host": must be a host:port pair or multiple pairs separated by commas`,
  ],
  [volume({ flocker: {} }), `${v}.flocker: Required value: one of datasetName and datasetUUID is required`],
  [volume({ scaleIO: { gateway: 'g', system: 's', secretRef: {} } }), `${v}.scaleIO.volumeName: Required value`],
];
table('an invalid volume is rejected with its error', (row) => {
  for (const [manifest, ...errors] of cases) {
    row(`a volume is rejected:  ${errors[0]?.slice(0, 140)}`, () => assert.deepEqual(errorsOf(manifest), errors));
  }
});
