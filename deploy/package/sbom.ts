import { licenseOf } from './licenses.ts';
import type { LockedPackage } from './lock.ts';

/** The bill of materials of the package, as CycloneDX 1.6: the packages of others in the bundle, as package-lock.json has them. */
export function softwareBill(
  product: { readonly name: string; readonly version: string; readonly license: string },
  packages: readonly LockedPackage[],
): string {
  const component = (type: string, name: string, version: string, license: string) => ({
    type,
    'bom-ref': `${name}@${version}`,
    name,
    version,
    licenses: [license.includes(' ') ? { expression: license } : { license: { id: license } }],
    purl: purl(name, version),
  });
  const bill = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: component('application', product.name, product.version, product.license) },
    components: packages.map((each) => ({
      ...component('library', each.name, each.version, licenseOf(each) ?? ''),
      hashes: hashes(each.integrity),
    })),
  };
  return `${JSON.stringify(bill, null, 2)}\n`;
}

const purl = (name: string, version: string): string => `pkg:npm/${name.replace('@', '%40')}@${version}`;

/** The hash of a package's file, from the lock file's `integrity`. */
function hashes(integrity: string | undefined): { alg: string; content: string }[] {
  const content = /^sha512-(.+)$/.exec(integrity ?? '')?.[1];
  if (content === undefined) throw new Error(`package-lock.json has ${integrity} in the place of a sha512`);
  return [{ alg: 'SHA-512', content: Buffer.from(content, 'base64').toString('hex') }];
}
