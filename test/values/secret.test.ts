/** Texts that no error and no log may show. */
import { expect, test } from 'vitest'
import { hideTexts, redactSecrets } from '../../src/values/secret.ts'

test('of a text that contains another one nothing stays, in whatever order they are given', () => {
  const person = ['Ann', 'ann@example.org']
  const keys = ['secret-1', 'secret-1-of-another']
  for (const texts of [person, person.toReversed()])
    expect(hideTexts('ANN@example.org of Ann is taken', texts)).toBe(
      '[not stored] of [not stored] is taken',
    )
  for (const secrets of [keys, keys.toReversed()])
    expect(redactSecrets('denied: secret-1-of-another, secret-1', secrets)).toBe(
      'denied: [secret], [secret]',
    )
})

test('a text is hidden however its letters are composed, accented or spelled out', () => {
  const composed = 'Zoë Straße'.normalize('NFC')
  const shown = ['ZOË STRASSE', composed.normalize('NFD'), 'zoe strasse', composed]
  for (const text of [composed, composed.normalize('NFD'), 'Zoë Strasse'])
    expect(hideTexts(`a ${shown.join(', ')}, ß`, [text])).toBe(
      'a [not stored], [not stored], [not stored], [not stored], ß',
    )
  expect(hideTexts('eßs, sßs', ['ess', 'ss'])).toBe('[not stored]s, [not stored]s')
  const password = 'pässwörd-1'
  expect(redactSecrets(`of ${password.normalize('NFD')}`, [password])).toBe('of [secret]')
  expect(redactSecrets('SVC_LIVE_0123 and Secret-1', ['secret-1'])).toBe('[secret] and [secret]')
})

test('a text is hidden in whatever letters it is repeated, of any language', () => {
  const hide = (text: string) => hideTexts(text, ['ibrahim@example.org', 'İbrahim', 'Οδυσσεύς'])
  expect(hide('IBRAHIM@EXAMPLE.ORG of İbrahim (IBRAHIM)')).toBe(
    '[not stored] of [not stored] ([not stored])',
  )
  expect(hide('ΟΔΥΣΣΕΎΣ, Οδυσσεύσ and ΟΔΥΣΣΕΎΣ2')).toBe(
    '[not stored], [not stored] and [not stored]2',
  )
})
