import { checkout } from '@hermes-fleet/installation';

/** A command as a user of this program writes it: in a checkout by `make` or `./fleet`, from the package as `fleet`. */
export const ownCommand = (words: string): string => {
  // In a checkout on a host without Node.js, the program is that of the image.
  if (checkout() === undefined && process.env.FLEET_MOUNTED === undefined) return `fleet ${words}`;
  return words.includes(' ') ? `./fleet ${words}` : `make ${words}`;
};
