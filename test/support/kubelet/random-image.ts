/** OCI archives of images with a layer of random bytes: each has an ID of its own, and occupies its size on disk. */
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestNode } from './test-node.ts';

const types = {
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
};

/** Imports an image that contains the static busybox and `bytes` random bytes. `name` includes the tag. */
export function importRandomImage(node: TestNode, name: string, bytes: number): void {
  const folder = mkdtempSync(join(tmpdir(), 'random-image-'));
  try {
    const blobs = join(folder, 'layout/blobs/sha256');
    mkdirSync(blobs, { recursive: true });
    const blob = (content: Buffer, mediaType: string) => {
      const hex = createHash('sha256').update(content).digest('hex');
      writeFileSync(join(blobs, hex), content);
      return { mediaType, digest: `sha256:${hex}`, size: content.length };
    };
    const json = (value: object, mediaType: string) => blob(Buffer.from(JSON.stringify(value)), mediaType);
    const layer = blob(layerOf(join(folder, 'rootfs'), bytes), types.layer);
    const platform = { architecture: process.arch === 'x64' ? 'amd64' : process.arch, os: 'linux' };
    const config = json({ ...platform, config: {}, rootfs: { type: 'layers', diff_ids: [layer.digest] } }, types.config);
    const manifest = json({ schemaVersion: 2, mediaType: types.manifest, config, layers: [layer] }, types.manifest);
    const annotations = { 'org.opencontainers.image.ref.name': name };
    writeFileSync(join(folder, 'layout/index.json'), JSON.stringify({ schemaVersion: 2, manifests: [{ ...manifest, annotations }] }));
    writeFileSync(join(folder, 'layout/oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
    execFileSync('tar', ['-cf', join(folder, 'image.tar'), '-C', join(folder, 'layout'), '.']);
    node.containerd.ctr('images', 'import', join(folder, 'image.tar'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function layerOf(rootfs: string, bytes: number): Buffer {
  mkdirSync(join(rootfs, 'bin'), { recursive: true });
  execFileSync('cp', ['/bin/busybox', join(rootfs, 'bin/busybox')]);
  execFileSync('ln', ['-s', 'busybox', join(rootfs, 'bin/sh')]);
  execFileSync('ln', ['-s', 'busybox', join(rootfs, 'bin/sleep')]);
  writeFileSync(join(rootfs, 'random'), randomBytes(bytes));
  return execFileSync('tar', ['-cf', '-', '-C', rootfs, '.'], { maxBuffer: 2 * bytes + 16 * 1024 * 1024 });
}
