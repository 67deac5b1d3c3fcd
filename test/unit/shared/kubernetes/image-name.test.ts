import assert from 'node:assert/strict';
import { parseImageName, withDefaultTag } from '../../../../src/shared/kubernetes/image-name.ts';
import { table } from '../../../support/table.ts';

const sha = `sha256:${'0123456789abcdef'.repeat(4)}`;

const good: [image: string, repository: string, tag: string, digest: string, given: string][] = [
  ['busybox', 'docker.io/library/busybox', 'latest', '', 'busybox:latest'],
  ['busybox:1', 'docker.io/library/busybox', '1', '', 'busybox:1'],
  ['team/app', 'docker.io/team/app', 'latest', '', 'team/app:latest'],
  ['index.docker.io/busybox', 'docker.io/library/busybox', 'latest', '', 'index.docker.io/busybox:latest'],
  ['localhost/app:v1', 'localhost/app', 'v1', '', 'localhost/app:v1'],
  ['example.com:5000/a/b__c-d.e', 'example.com:5000/a/b__c-d.e', 'latest', '', 'example.com:5000/a/b__c-d.e:latest'],
  ['[::1]:5000/app', '[::1]:5000/app', 'latest', '', '[::1]:5000/app:latest'],
  [`example.com/app@${sha}`, 'example.com/app', '', sha, `example.com/app@${sha}`],
  [`example.com/app:v1@${sha}`, 'example.com/app', 'v1', sha, `example.com/app:v1@${sha}`],
];
table('an image name is parsed', (row) => {
  for (const [image, repository, tag, digest, given] of good) {
    row(`the image name ${image.slice(0, 40)} is parsed`, () => {
      assert.deepEqual(parseImageName(image), { repository, tag, digest });
      assert.equal(withDefaultTag(image), given);
    });
  }
});

const bad: [image: string, why: RegExp][] = [
  ['', /invalid reference format/],
  ['Busybox', /repository name \(library\/Busybox\) must be lowercase/],
  ['busybox:', /invalid reference format/],
  ['busy box', /invalid reference format/],
  ['example.com//app', /invalid reference format/],
  ['a'.repeat(256), /must not be more than 255 characters/],
  ['x'.repeat(100_000), /must not be more than 255 characters/],
  ['ab'.repeat(32), /cannot specify 64-byte hexadecimal strings/],
  ['app@sha256:0123', /invalid reference format/],
  [`app@sha256:${'0'.repeat(40)}`, /invalid checksum digest length/],
  [`app@md5:${'0'.repeat(32)}`, /unsupported digest algorithm/],
  [`app:${'t'.repeat(129)}`, /invalid reference format/],
];
table('an invalid image name is rejected with a reason', (row) => {
  for (const [image, why] of bad) {
    row(`the image name "${image.slice(0, 40)}" is rejected with a reason`, () => assert.throws(() => parseImageName(image), why));
  }
});
