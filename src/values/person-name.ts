/** The name under which a person's decisions are stored. */
import { trimBoth } from './trim.ts'

const maxLength = 100

/** Spaces that look alike are one. Undefined if it is empty, longer than 100 characters, or contains characters that cannot be seen. */
export function parsePersonName(text: string): string | undefined {
  const name = trimBoth(text.normalize('NFC').replace(/\p{Zs}+/gu, ' '), ' ')
  const isVisible = name.isWellFormed() && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u.test(name)
  return name !== '' && name.length <= maxLength && isVisible ? name : undefined
}
