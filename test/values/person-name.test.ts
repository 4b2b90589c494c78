/** Names of people, however they are written. */
import { expect, test } from 'vitest'
import { isSamePerson } from '../../src/values/person-name.ts'

test.each([
  ['ann', 'ANN'],
  ['Ünal', 'ünal'],
  ['U\u0308nal', 'ünal'],
  ['STRASSE', 'Straße'],
  ['İlker', 'ilker'],
  ['ΝΙΚΟΣ', 'Νικος'],
  ['ＡＮＮ', 'ann'],
  ['Ann\u00a0Lee', 'ann  lee'],
])('%s and %s are one person', (name, other) => expect(isSamePerson(name, other)).toBe(true))

test.each([
  ['ann', 'anna'],
  ['Ünal', 'Unal'],
  ['Ann Lee', 'AnnLee'],
])('%s and %s are two', (name, other) => expect(isSamePerson(name, other)).toBe(false))
