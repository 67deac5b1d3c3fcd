/** A thread that adds directories to the project files, beside others. */
import { workerData } from 'node:worker_threads';
import { addDirectory } from '../../../src/shared/linux/project-files.ts';
import { changeProjectFiles, type ProjectFilePaths } from '../../../src/workers/pod-sync/pod/volumes/project-quota/change-project-files.ts';

const { paths, name, count } = workerData as { readonly paths: ProjectFilePaths; readonly name: string; readonly count: number };
for (let index = 0; index < count; index += 1)
  await changeProjectFiles(paths, undefined, (files) => addDirectory(files, `/pods/${name}/${index}`, () => false).files);
