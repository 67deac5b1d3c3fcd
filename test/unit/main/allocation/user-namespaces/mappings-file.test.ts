import assert from 'node:assert/strict';
import { decodeMappings, encodeMappings } from '../../../../../src/main/allocation/user-namespaces/mappings-file.ts';
import { table } from '../../../../support/table.ts';

const goFile =
  '{"uidMappings":[{"hostId":131072,"containerId":0,"length":65536}],"gidMappings":[{"hostId":131072,"containerId":0,"length":65536}]}';
const range = { firstID: 131_072, length: 65_536 };

const mapping = { hostId: 131_072, containerId: 0, length: 65_536 };
const fileWith = (uids: unknown, gids: unknown = uids) => JSON.stringify({ uidMappings: uids, gidMappings: gids });

const broken: readonly [name: string, content: string, want: RegExp][] = [
  ['not JSON', '{"uidMappings":', /^Error: invalid user namespace mappings file: /],
  ['a list', '[]', /invalid user namespace mappings file: it is no object/],
  ['null', 'null', /it is no object/],
  ['mappings of another type', fileWith('65536'), /the mappings are no list/],
  ['a mapping of another type', fileWith([65536]), /it is no object/],
  ['a negative ID', fileWith([{ ...mapping, hostId: -65536 }]), /an ID is not a number of 32 bits/],
  ['an ID of more than 32 bits', fileWith([{ ...mapping, length: 2 ** 32 }]), /an ID is not a number of 32 bits/],
  ['a fraction', fileWith([{ ...mapping, hostId: 65536.5 }]), /an ID is not a number of 32 bits/],
  ['an ID as text', fileWith([{ ...mapping, hostId: '65536' }]), /an ID is not a number of 32 bits/],
  ['no mapping', '{}', /invalid user namespace configuration: no more than one mapping allowed/],
  ['two mappings', fileWith([mapping, mapping]), /no more than one mapping allowed/],
  ['no mapping of groups', fileWith([mapping], []), /GID and UID mappings should be identical/],
  ['other groups', fileWith([mapping], [{ ...mapping, hostId: 196_608 }]), /GID and UID mapping should be identical/],
  ['other group in the pod', fileWith([mapping], [{ ...mapping, containerId: 1 }]), /GID and UID mapping should be identical/],
  ['root not mapped', fileWith([{ ...mapping, containerId: 1 }]), /UID 0 must be mapped/],
];

table('the file with a pod’s mappings', (row) => {
  row('is written as the Go kubelet writes it', () => assert.equal(encodeMappings(range), goFile));
  row('is read back', () => assert.deepEqual(decodeMappings(goFile), range));
  for (const [name, content, want] of broken) row(`is refused: ${name}`, () => assert.throws(() => decodeMappings(content), want));
});
