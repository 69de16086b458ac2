import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changelogSection } from './changelog.ts';

const RELEASED =
  '# Changelog\n\n## Unreleased\n\n### Upgrade\n\nWhat changes.\n\n## 0.3.0 - 2027-01-02\n\n- New.\n\n## 0.2.0 - 2026-11-29\n\n- Old.\n';
const UNRELEASED = RELEASED.replace('What changes.', '- A change.');

test('the section of a version is what it changed', () => {
  assert.equal(changelogSection(RELEASED, '0.3.0', false), '## 0.3.0 - 2027-01-02\n\n- New.\n');
  assert.equal(changelogSection(RELEASED, '0.2.0', false), '## 0.2.0 - 2026-11-29\n\n- Old.\n');
});

test('a version without a section, and changes that are still unreleased, are refused', () => {
  assert.throws(() => changelogSection(RELEASED, '0.4.0', false), /no section "## 0\.4\.0 - <date>"/);
  assert.throws(() => changelogSection(UNRELEASED, '0.3.0', false), /under "Unreleased"/);
});

test('a preview has the changes that are unreleased', () => {
  assert.equal(changelogSection(UNRELEASED, '0.3.0', true), '## Unreleased\n\n### Upgrade\n\n- A change.\n');
});
