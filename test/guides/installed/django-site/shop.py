"""A service in Django behind the gateway: settings, addresses and the application, beside what docs/guides/django.md says (gateway.py)."""

import os

import django
from django.conf import settings

from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect

FOLDER = os.environ['SHOP_FOLDER']
FROM_PAGE = ('ALLOWED_HOSTS', 'SECURE_PROXY_SSL_HEADER', 'AUTHENTICATION_BACKENDS')


def settings_of_page():
    text = open(os.path.join(FOLDER, 'gateway.py')).read().split('\nclass ')[0]
    scope = {}
    exec('\n'.join(line for line in text.split('\n') if 'django' not in line), scope)
    return {name: scope[name] for name in FROM_PAGE}


settings.configure(
    SECRET_KEY='of a test',
    ROOT_URLCONF='shop',
    SESSION_ENGINE='django.contrib.sessions.backends.signed_cookies',
    INSTALLED_APPS=['django.contrib.auth', 'django.contrib.contenttypes'],
    DATABASES={'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': os.path.join(FOLDER, 'shop.db')}},
    MIDDLEWARE=[
        'django.middleware.common.CommonMiddleware',
        'django.contrib.sessions.middleware.SessionMiddleware',
        'django.contrib.auth.middleware.AuthenticationMiddleware',
        'gateway.GatewayUser',
    ],
    **settings_of_page(),
)
django.setup()

from django.urls import path  # noqa: E402


def items(request):
    user = request.user.get_username() or None
    return JsonResponse({'user': user, 'url': request.build_absolute_uri().rstrip('/'), 'secure': request.is_secure()})


urlpatterns = [
    path('v1/items', items),
    path('v1/slashed/', items),
    path('v1/old', lambda request: redirect(request.build_absolute_uri('/v1/items'))),
    path('v1/charge/', lambda request: HttpResponse('charged')),
]

application = get_wsgi_application()
call_command('migrate', verbosity=0)
