/** What a field shows and whom it reports to, as props of it. @param error what is said under it; nothing if it is empty */
export function bound<T extends string | null | undefined>(
  value: string,
  onChange: (value: string) => void,
  error?: T,
) {
  return {
    ...{ value, error },
    onChange: (event: { readonly currentTarget: { readonly value: string } }) => onChange(event.currentTarget.value),
  }
}
