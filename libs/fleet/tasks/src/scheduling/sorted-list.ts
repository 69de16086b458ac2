/** Removed elements at the front are dropped from memory when there are this many, and more than those that are left. */
const COMPACT_FROM = 32;

/**
 * Elements in the order of a comparison in which no two are equal. It is fast for a queue: removing the first element and
 * adding a last one take constant time.
 */
export class SortedList<T> {
  readonly #compare: (a: T, b: T) => number;
  #elements: T[] = [];
  /** The elements before this index are removed. */
  #start = 0;

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#elements.length - this.#start;
  }

  get first(): T | undefined {
    return this.#elements[this.#start];
  }

  has(element: T): boolean {
    return this.#elements[this.#indexOf(element)] === element;
  }

  add(element: T): void {
    const at = this.#indexOf(element);
    if (at === this.#elements.length) this.#elements.push(element);
    else this.#elements.splice(at, 0, element);
  }

  /** Removes the element if it is in the list. */
  remove(element: T): void {
    const at = this.#indexOf(element);
    if (this.#elements[at] !== element) return;
    if (at > this.#start) {
      this.#elements.splice(at, 1);
      return;
    }
    this.#start += 1;
    if (this.#start < COMPACT_FROM || this.#start < this.size) return;
    this.#elements = this.#elements.slice(this.#start);
    this.#start = 0;
  }

  /** The index of the first element that does not come before this one. */
  #indexOf(element: T): number {
    let low = this.#start;
    let high = this.#elements.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#elements[middle];
      if (other !== undefined && this.#compare(other, element) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
