import assert from 'node:assert/strict';
import { shownImage } from '../../../../../src/main/pods/api-status/shown-image.ts';
import type { ContainerID } from '../../../../../src/shared/kubernetes/ids.ts';
import { containerHash } from '../../../../../src/shared/kubernetes/container-hash.ts';
import { aContainer } from '../../../../support/pods/pods.ts';
import { table } from '../../../../support/table.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const cases: { name: string; reported: string; image: string; want: string; hash?: string; previous?: string }[] = [
  { name: 'a short name', reported: 'docker.io/library/busybox:latest', image: 'busybox', want: 'docker.io/library/busybox:latest' },
  {
    name: 'a short name, completed with another registry',
    reported: 'quay.io/team/app:1',
    image: 'team/app:1',
    want: 'quay.io/team/app:1',
  },
  { name: 'a short name and the tag of another image', reported: 'quay.io/other/app:1', image: 'team/app:1', want: 'team/app:1' },
  { name: 'a name without a tag', reported: 'r.test/app:latest', image: 'r.test/app', want: 'r.test/app:latest' },
  { name: 'another tag', reported: 'r.test/app:2', image: 'r.test/app:1', want: 'r.test/app:1' },
  { name: 'another repository', reported: 'mirror.test/app:1', image: 'r.test/app:1', want: 'r.test/app:1' },
  { name: 'a tag for a digest', reported: 'r.test/app:2', image: `r.test/app@${digest}`, want: `r.test/app@${digest}` },
  { name: 'the digest', reported: `r.test/app@${digest}`, image: `r.test/app:1@${digest}`, want: `r.test/app@${digest}` },
  { name: 'an image without a tag', reported: digest, image: 'r.test/app:1', want: 'r.test/app:1' },
  { name: 'nothing', reported: '', image: 'r.test/app:1', want: 'r.test/app:1' },
  { name: 'the former image of a changed spec', reported: 'r.test/app:3', image: 'r.test/app:2', want: 'r.test/app:3', hash: 'former' },
  {
    name: 'the former image of a changed spec, shown before',
    reported: 'r.test/app:3',
    image: 'r.test/app:2',
    want: 'r.test/app:1',
    hash: 'former',
    previous: 'r.test/app:1',
  },
  { name: 'an image of any length', reported: 'r.test/app:3', image: 'x'.repeat(3000), want: 'r.test/app:3' },
];
table('the image of a container, reported by the runtime as', (row) => {
  for (const { name, reported, image, want, hash, previous } of cases) {
    row(`the image of a container, reported by the runtime as ${name}`, () => {
      const container = aContainer({ image });
      const previousStatus = {
        name: 'app',
        image: previous ?? '',
        imageID: '',
        ready: true,
        restartCount: 0,
        containerID: 'containerd://c1',
      };
      const instance = { image: reported, hash: hash ?? containerHash(container), id: 'c1' as ContainerID };
      assert.equal(shownImage(instance, container, previous === undefined ? undefined : previousStatus), want);
    });
  }
});
