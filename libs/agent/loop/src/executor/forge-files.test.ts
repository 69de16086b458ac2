import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forgeFiles, forgeNextSteps } from './forge-files.ts';

test('files that a forge runs, or that decide who may do what there, are named', () => {
  const named = [
    '.github',
    '.circleci',
    '.github/workflows/x.yml',
    '.github/actions/build/run.sh',
    '.github/CODEOWNERS',
    '.github/dependabot.yml',
    '.gitlab-ci.yml',
    '.gitlab/CODEOWNERS',
    '.gitea/workflows/x.yaml',
    '.forgejo/workflows/x.yaml',
    '.bitbucket/CODEOWNERS',
    'CODEOWNERS',
    'docs/CODEOWNERS',
    '.gitmodules',
    '.circleci/config.yml',
    'Jenkinsfile',
    'ci/release/Jenkinsfile',
    'azure-pipelines.yml',
    '.azure-pipelines/build.yml',
    'bitbucket-pipelines.yml',
    '.travis.yml',
    '.drone.yml',
    '.woodpecker.yml',
    '.woodpecker/test.yaml',
    '.buildkite/pipeline.yml',
    '.cirrus.yml',
    'appveyor.yml',
    '.appveyor.yml',
    'cloudbuild.yaml',
    '.teamcity/settings.kts',
    '.semaphore/semaphore.yml',
  ];
  assert.deepEqual(forgeFiles(named), named);
});

test('ordinary files are not named', () => {
  const ordinary = [
    'guides/github.md',
    'src/.github.ts',
    '.githubx/workflows/x.yml',
    'packages/a/.github/workflows/x.yml',
    'src/CODEOWNERS.ts',
    'lib/CODEOWNERS',
    'codeowners',
    'sub/.gitmodules',
    'test/.gitlab-ci.yml',
    'Jenkinsfile.md',
    'src/MyJenkinsfile',
    '.gitignore',
    '.gitattributes',
    '.pre-commit-config.yaml',
    'package.json',
    'toString',
  ];
  assert.deepEqual(forgeFiles(ordinary), []);
  assert.deepEqual(forgeNextSteps(ordinary), []);
});

test('the next step is one line, however many files there are and however long their paths', () => {
  assert.deepEqual(forgeNextSteps(['src/a.ts', '.github/workflows/x.yml', 'CODEOWNERS']), [
    'look at .github/workflows/x.yml, CODEOWNERS before you push: a forge runs what is there, or reads from it who may do what',
  ]);
  assert.deepEqual(forgeNextSteps(['.github/a\nb\u001b[2J\u202e.yml']), [
    String.raw`look at ".github/a\nb\u001b[2J\u202e.yml" before you push: a forge runs what is there, or reads from it who may do what`,
  ]);
  const many = Array.from({ length: 5000 }, (_, index) => `.github/workflows/${index}${'x'.repeat(4000)}`);
  const [line = '', ...others] = forgeNextSteps(many);
  assert.match(line, / and 4995 more before you push/);
  assert.ok(line.length < 700 && others.length === 0);
});
