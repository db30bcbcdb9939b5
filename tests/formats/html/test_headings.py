from __future__ import annotations

import pytest

from sitemap_harvest.formats.html.headings import says_not_found, says_site_map


@pytest.mark.parametrize(
    "heading",
    [
        *("404", "Error 404", "404 Not Found", "404 - Page not found", "404: Not Found", "Not Found", "Page Not Found"),
        *(
            "Page not found | Acme Solutions",
            "Example – Page not found",
            "Oops! That page can’t be found.",
            "Nothing Found",
        ),
        *("404 | Page Not Found | Example", "Sorry, page not found!", "HTTP Error 404", "HTTP Status 404 – Not Found"),
        *("Seite nicht gefunden", "Fehler 404", "Fehler 404 – Seite nicht gefunden", "Page introuvable - Mairie"),
        *("Erreur 404 : page introuvable", "Página no encontrada", "Página não encontrada", "Pagina non trovata"),
        *("Pagina niet gevonden", "Страница не найдена", "Ошибка 404. Страница не найдена", "Sayfa Bulunamadı"),
        *("ページが見つかりません", "页面不存在", "페이지를 찾을 수 없습니다", "الصفحة غير موجودة"),
    ],
)
def test_pages_for_missing_documents_are_recognized(heading: str) -> None:
    assert says_not_found(heading)


@pytest.mark.parametrize(
    "heading",
    [
        *("", "Hello", "HTTP 404 - Wikipedia", "How to fix a 404 error", "404 Media", "Best 404 pages of 2025"),
        *("Page not found: what now?", "Not found: a novel", "Room 404", "Not found " * 50),
        *("Seite nicht gefunden – Ursachen und Lösungen", "404 Not Found – What It Means and How to Fix It"),
    ],
)
def test_pages_about_missing_pages_are_not_taken_for_them(heading: str) -> None:
    assert not says_not_found(heading)


@pytest.mark.parametrize(
    "heading",
    [
        *("Sitemap", "SITE MAP", "Site-Map", "Sitemap | Example", "Example - Site map", "HTML Sitemap", "Site Index"),
        *("Sitemap - Page 2", "Sitemap 3", "Example » Sitemap", "Seitenübersicht"),
        *("Plan du site", "Mapa del sitio", "Mapa web", "Mapa do site", "Mappa del sito", "Mapa strony", "Карта сайта"),
        *("Site haritası", "サイトマップ｜例", "网站地图", "網站導覽", "사이트맵", "خريطة الموقع", "מפת האתר"),
    ],
)
def test_site_maps_are_recognized(heading: str) -> None:
    assert says_site_map(heading)


@pytest.mark.parametrize(
    "heading",
    [
        *("", "Home", "How to write a sitemap", "Sitemap generator", "Sitemap: what is it?", "What is a site map?"),
        *("Sitemaps explained", "Submit your sitemap", "Map of the site of Troy", "Home | Sitemap | Example"),
    ],
)
def test_pages_about_site_maps_are_not_taken_for_them(heading: str) -> None:
    assert not says_site_map(heading)
