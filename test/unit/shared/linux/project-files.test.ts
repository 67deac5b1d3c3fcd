import assert from 'node:assert/strict';
import {
  addDirectory,
  projectsByDirectory,
  removeDirectoriesBelow,
  type ProjectFiles,
} from '../../../../src/shared/linux/project-files.ts';
import { table } from '../../../support/table.ts';

const empty: ProjectFiles = { projects: '', projid: '' };
const foreign: ProjectFiles = {
  projects: '# of the administrator\n42:/srv/data\n1048577:/home\nno project\n',
  projid: '#comment:1048578\ndata:42\n',
};
const noFiles = () => false;

table('a directory is added to the project files', (row) => {
  row('a first directory gets the first project, in upstream’s format', () =>
    assert.deepEqual(addDirectory(empty, '/pods/a', noFiles), {
      id: 1_048_577,
      files: { projects: '1048577:/pods/a\n', projid: 'volume1048577:1048577\n' },
    }),
  );
  row('lines of others stay, and their projects are not used; a comment names none', () =>
    assert.deepEqual(addDirectory(foreign, '/pods/a', noFiles), {
      id: 1_048_578,
      files: { projects: `${foreign.projects}1048578:/pods/a\n`, projid: `${foreign.projid}volume1048578:1048578\n` },
    }),
  );
  row('a project that is only named is not used', () =>
    assert.equal(addDirectory({ projects: '', projid: 'mine:1048577\n' }, '/pods/a', noFiles).id, 1_048_578),
  );
  row('a project that still has files is not used', () =>
    assert.equal(addDirectory(empty, '/pods/a', (id) => id < 1_048_580).id, 1_048_580),
  );
  row('a directory that has a project keeps it, also with files', () =>
    assert.deepEqual(
      addDirectory(foreign, '/home', () => true),
      { id: 1_048_577, files: foreign },
    ),
  );
  row('a last line without its end is completed', () =>
    assert.equal(addDirectory({ projects: '42:/srv', projid: '' }, '/pods/a', noFiles).files.projects, '42:/srv\n1048577:/pods/a\n'),
  );
  row('the search ends when very many projects have files without a name', () =>
    assert.throws(() => addDirectory(empty, '/pods/a', () => true), /cannot find available quota ID/),
  );
});

table('directories are removed from the project files', (row) => {
  const files: ProjectFiles = {
    projects: '42:/srv/data\n1048577:/pods/a/v1\n1048578:/pods/ab/v1\n1048579:/pods/a/v2\n',
    projid: 'data:42\nvolume1048577:1048577\nvolume1048578:1048578\nvolume1048579:1048579\n',
  };
  row('those below the folder, with the names of their projects', () =>
    assert.deepEqual(removeDirectoriesBelow(files, '/pods/a'), {
      projects: '42:/srv/data\n1048578:/pods/ab/v1\n',
      projid: 'data:42\nvolume1048578:1048578\n',
    }),
  );
  row('nothing changes without one', () => assert.equal(removeDirectoriesBelow(files, '/pods/b'), files));
  row('the name of a project with another directory stays', () =>
    assert.deepEqual(removeDirectoriesBelow({ projects: '7:/pods/a/v\n7:/srv\n', projid: 'volume7:7\n' }, '/pods/a'), {
      projects: '7:/srv\n',
      projid: 'volume7:7\n',
    }),
  );
  row('a name that somebody else has given stays', () =>
    assert.equal(removeDirectoriesBelow({ projects: '7:/pods/a/v\n', projid: 'mine:7\n' }, '/pods/a').projid, 'mine:7\n'),
  );
});

table('projects by directory', (row) => {
  row('of all lines that are projects', () =>
    assert.deepEqual(
      projectsByDirectory(foreign.projects),
      new Map([
        ['/home', 1_048_577],
        ['/srv/data', 42],
      ]),
    ),
  );
  row('the first line of a directory counts', () => assert.equal(projectsByDirectory('1:/a\n2:/a\n').get('/a'), 1));
  row('a directory with a colon', () => assert.equal(projectsByDirectory('1:/a:b\n').get('/a:b'), 1));
});
