import { stringify as losslessStringify } from 'lossless-json';

/** JSON text of a parsed answer; numbers that a double cannot hold come out as they came in. */
export function stringify(value: unknown): string {
  return losslessStringify(value) ?? '';
}
