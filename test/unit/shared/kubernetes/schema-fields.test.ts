/** The schema has each field of a pod in the API as @kubernetes/client-node has it: decoding a manifest drops every field that the schema lacks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as clientNode from '@kubernetes/client-node';
import { pod as podSchema } from '../../../../src/shared/kubernetes/schema/pod.ts';
import type { Schema } from '../../../../src/shared/kubernetes/schema/types.ts';

interface Attribute {
  readonly baseName: string;
  readonly type: string;
}
const classes = clientNode as unknown as Readonly<Record<string, { getAttributeTypeMap?: () => readonly Attribute[] } | undefined>>;

/** Returns the paths of fields that only one of both has. */
function differences(schema: Schema, type: string, path: string): string[] {
  const className = /\w*V1\w+/.exec(type)?.[0] ?? '';
  const attributes = classes[className]?.getAttributeTypeMap?.();
  if (!attributes) return [];
  if (schema.kind === 'pointer' || schema.kind === 'always') return differences(schema.element, type, path);
  if (schema.kind === 'list' || schema.kind === 'map') return differences(schema.element, type, `${path}[]`);
  if (schema.kind !== 'struct') return [`${path} is ${schema.kind}`];
  const { fields } = schema;
  return [
    ...attributes.flatMap(({ baseName, type: fieldType }) => {
      const field = fields[baseName];
      return field ? differences(field, fieldType, `${path}.${baseName}`) : [`${path}.${baseName} is missing`];
    }),
    ...Object.keys(fields)
      .filter((name) => !attributes.some(({ baseName }) => baseName === name))
      .map((name) => `${path}.${name} is not in the API`),
  ];
}

/** Of src/shared/kubernetes/newer-fields.ts: the client library has those of v1.36. */
const newerSpecFields = [
  ...['containers', 'ephemeralContainers', 'initContainers'].flatMap((list) => [
    `${list}[].volumeMounts[].bindMountOptions`,
    ...['postStart', 'preStop'].map((hook) => `${list}[].lifecycle.${hook}.httpGet.protocol`),
    ...['livenessProbe', 'readinessProbe', 'startupProbe'].flatMap((probe) => [
      `${list}[].${probe}.httpGet.protocol`,
      `${list}[].${probe}.grpc.mode`,
    ]),
  ]),
  'volumes[].emptyDir.mode',
  ...['configMap', 'downwardAPI', 'projected', 'secret'].map((kind) => `volumes[].${kind}.defaultUser`),
  ...['configMap.items[]', 'downwardAPI.items[]', 'secret.items[]'].flatMap((items) => [
    `volumes[].${items}.user`,
    `volumes[].projected.sources[].${items}.user`,
  ]),
  ...['clusterTrustBundle', 'podCertificate', 'serviceAccountToken'].map((kind) => `volumes[].projected.sources[].${kind}.user`),
].map((path) => `pod.spec.${path} is not in the API`);
const newerFields = [...newerSpecFields, 'pod.status.volumeHealth is not in the API'];

test('the schema of a pod has the fields of the API', () => {
  // Only the API server uses them, and each pod has many.
  const managedFields = ['pod.metadata', 'pod.spec.volumes[].ephemeral.volumeClaimTemplate.metadata'].map(
    (path) => `${path}.managedFields is missing`,
  );
  assert.deepEqual(differences(podSchema, 'V1Pod', 'pod').sort(), [...managedFields, ...newerFields].sort());
});
