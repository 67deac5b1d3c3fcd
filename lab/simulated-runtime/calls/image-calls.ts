/** The calls of the image service. */
import { pullBehaviour } from '../image-behaviour.ts';
import { toCriImage } from '../image-store.ts';
import { cancelled, RpcError, unimplemented, unknown } from '../rpc-error.ts';
import type { SimulatedRuntime } from '../runtime.ts';
import type { ImageHandlers } from './handlers.ts';

export function imageCalls(runtime: SimulatedRuntime): ImageHandlers {
  const { images } = runtime;
  return {
    async listImages({ filter }, call) {
      await call.work();
      const wanted = filter?.image?.image ?? '';
      if (wanted === '') return { images: images.all().map(toCriImage) };
      const image = images.resolve(wanted);
      return { images: image ? [toCriImage(image)] : [] };
    },

    async streamImages(_request, call) {
      if (!runtime.options.streamingLists) throw unimplemented('StreamImages', 'runtime.v1.ImageService');
      await call.work();
      return images.all().map((image) => ({ images: [toCriImage(image)] }));
    },

    async imageStatus({ image, verbose }, call) {
      await call.work();
      const found = images.resolve(image?.image ?? '');
      if (!found) return {};
      return { image: toCriImage(found), info: verbose ? { info: '{}' } : {} };
    },

    async pullImage({ image }, call) {
      const name = image?.image ?? '';
      if (name === '') throw unknown('failed to parse image reference "": invalid reference format');
      const { pullMs, failure } = pullBehaviour(name);
      await call.work();
      await runtime.clock.sleep(pullMs ?? runtime.options.pullMs, call.signal).catch(() => undefined);
      if (call.signal.aborted) throw cancelled();
      if (failure) throw new RpcError(failure.code, failure.message);
      return { imageRef: images.add(name, runtime.options.imageSizeBytes).id };
    },

    async removeImage({ image }, call) {
      await call.work();
      images.remove(image?.image ?? '');
      return {};
    },

    async imageFsInfo(_request, call) {
      await call.work();
      const timestamp = runtime.nowNs();
      const imageBytes = images.all().reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      const usage = (usedBytes: number, inodes: number) => ({
        timestamp,
        fsId: { mountpoint: runtime.options.imageFsMountpoint },
        usedBytes: { value: BigInt(usedBytes) },
        inodesUsed: { value: BigInt(inodes) },
      });
      const containers = runtime.machine.containers.size;
      return {
        imageFilesystems: [usage(imageBytes, images.all().length * 1000)],
        containerFilesystems: [usage(containers * 65_536, containers * 20)],
      };
    },
  };
}
