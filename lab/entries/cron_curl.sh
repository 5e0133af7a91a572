#!/bin/bash
# cron and curl: cron_curl.sh SITE REQUESTS NOW FOLDER makes one turn. It reads the
# sitemap, and fetches the pages that were fetched longest ago, one after the other.
set -euo pipefail
site=$1 requests=$2 folder=$4
agent="cron-curl/1.0"
mkdir -p "$folder/pages"
touch "$folder/order"
curl -s -A "$agent" "$site/sitemap.xml" | grep -o '<loc>[^<]*' | sed 's/<loc>//' > "$folder/now"
# Pages that are still listed, in the order of their last fetch; new ones come first.
{ grep -vxFf "$folder/order" "$folder/now" || true
  grep -xFf "$folder/now" "$folder/order" || true; } > "$folder/next"
head -n "$((requests - 1))" "$folder/next" > "$folder/chosen"
while read -r url; do
  printf 'url = "%s"\noutput = "%s/pages/%s"\n' "$url" "$folder" "$(basename "$url")"
done < "$folder/chosen" | curl -s -A "$agent" -K -
tail -n +"$requests" "$folder/next" > "$folder/order"
cat "$folder/chosen" >> "$folder/order"
