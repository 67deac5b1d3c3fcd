/** image: the files of an image. The images thread pulls it when a container starts, and the runtime mounts it. */
import { goQuote } from '../../../../../shared/kubernetes/go-text.ts';
import type { VolumeSource } from '../../../../../shared/kubernetes/volume-kind.ts';
import type { VolumePlugin } from './volume-plugin.ts';

export const image: VolumePlugin<VolumeSource<'image'>> = {
  holdsFiles: false,
  isMount: () => false,
  mount: async () => false,
  containerMount: async ({ volume, subPath, pulledImage }) => {
    if (!pulledImage) throw new Error(`the image of volume ${goQuote(volume)} was not pulled: image volumes are not available here`);
    return { image: pulledImage, imageSubPath: subPath, readonly: true, selinuxRelabel: false };
  },
  teardown: null,
};
