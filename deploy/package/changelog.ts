const HEADING = /^## (.+)$/gm;

/** The sections of a changelog, by their headings, in its order. */
function sections(changelog: string): ReadonlyMap<string, string> {
  const headings = [...changelog.matchAll(HEADING)];
  return new Map(
    headings.map(({ 0: line, 1: heading = '', index }, at) => [
      heading,
      changelog.slice(index + line.length, headings[at + 1]?.index).trim(),
    ]),
  );
}

/**
 * The section of CHANGELOG.md for a version, with its heading. Throws where the version has none with a date, and where changes are
 * listed as unreleased, which the version then has without saying so. A preview is what is unreleased.
 */
export function changelogSection(changelog: string, version: string, isPreview: boolean): string {
  const found = sections(changelog);
  const unreleased = found.get('Unreleased') ?? '';
  if (isPreview) return `## Unreleased\n\n${unreleased}\n`;
  if (/^- /m.test(unreleased))
    throw new Error(
      `CHANGELOG.md lists changes under "Unreleased": move them to "## ${version} - <date>", or take --preview`,
    );
  const heading = [...found.keys()].find((each) => each.startsWith(`${version} - `));
  if (heading === undefined) throw new Error(`CHANGELOG.md has no section "## ${version} - <date>"`);
  return `## ${heading}\n\n${found.get(heading)}\n`;
}
